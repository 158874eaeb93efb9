// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/rates.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr double kGpus = 16'777'216;

constexpr std::array<RateFacts, kRates> kFacts{{
    {"price_usd_per_gpu_hour", "USD per GPU-hour", 0.001, 1000, "price"},
    {"booked_gpus", "GPUs", 1, kGpus, "booked together"},
    {"gpu_mtbf_hours", "GPU-hours", 1, 1e9, "MTBF of a GPU"},
    {"mtbf_factor", "", 1, 100, "uncertainty of the MTBF"},
    {"mtbf_factor_small", "", 1, 100, "the same of small jobs"},
    {"small_job_gpus", "GPUs", 0, kGpus, "a small job is below"},
    {"restart_minutes", "min", 0, 10'080, "restart time"},
    {"repair_hours", "h", 0, 8760, "repair time"},
    {"replaced_share", "", 0, 1, "failures that take a node"},
    {"spare_target", "", 0.5, 0.999999, "spares suffice with probability"},
    {"storage_gb_per_s_per_gpu", "GB/s", 1e-6, 1000, "storage bandwidth per GPU"},
    {"storage_gb_per_s_limit", "GB/s", 1e-3, 1e7, "storage bandwidth, all"},
    {"save_seconds", "s", 0, 3600, "fixed part of a save"},
    {"background_saves", "", 0, 1, "saves beside the steps"},
    {"host_memory_share", "", 0, 1, "usable share of host memory"},
    {"server_power_factor", "", 1, 5, "node power over GPU power"},
    {"pue", "", 1, 3, "PUE"},
    {"idle_power_share", "", 0, 1, "idle power share"},
}};

}  // namespace

const RateFacts& facts_of(Rate rate) { return kFacts[static_cast<std::size_t>(rate)]; }

std::optional<Rate> rate_named(const std::string& key) {
  for (std::size_t i = 0; i < kRates; ++i) {
    if (key == kFacts[i].key) return static_cast<Rate>(i);
  }
  return std::nullopt;
}

std::vector<std::string> rate_names() {
  std::vector<std::string> names;
  for (const RateFacts& f : kFacts) names.emplace_back(f.key);
  return names;
}

std::string rate_problem(Rate rate, double value) {
  const RateFacts& f = facts_of(rate);
  const bool whole = rate == Rate::booked_gpus || rate == Rate::small_job ||
                     rate == Rate::background_saves;
  if (value >= f.min && value <= f.max && (!whole || value == std::floor(value))) return {};
  return fmt::format("must be {} from {} to {}", whole ? "a whole number" : "a number", f.min,
                     f.max);
}

double Rates::at(Rate rate) const {
  const std::optional<RateValue>& value = find(rate);
  PLEAT_ASSERT(value.has_value());
  return value->value;
}

Rates Rates::with(Rate rate, double value) const {
  Rates changed = *this;
  changed.values_[static_cast<std::size_t>(rate)]->value = value;
  return changed;
}

Rates rates_of(const std::vector<RateFile>& files, const std::string& cluster) {
  RateSet all;
  const auto lay_over = [&](const RateSet& set) {
    for (std::size_t i = 0; i < kRates; ++i) {
      if (set[i]) all[i] = set[i];
    }
  };
  for (const RateFile& file : files) {
    lay_over(file.defaults);
    for (const auto& [name, set] : file.clusters) {
      if (name == cluster) lay_over(set);
    }
  }
  return Rates(all);
}

}  // namespace pleat
