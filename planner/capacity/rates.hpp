// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a booking costs and how its hardware fails: inputs with a source each, by cluster. Shipped in
// configs/rates, overridden by a file of the user's and by flags.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pleat {

enum class Rate : std::uint8_t {
  price,              // USD per GPU and hour
  booked_gpus,        // GPUs that can only be booked together
  gpu_mtbf,           // hours between failures that stop the job, times GPUs
  mtbf_factor,        // median over P10 of the mtbf
  mtbf_factor_small,  // the same of jobs below small_job
  small_job,          // GPUs
  restart,            // minutes: detect, replace, start again; loading comes on top
  repair,             // hours a node is away
  replaced_share,     // of failures, those that take a node away
  spare_target,       // probability that the spares suffice
  storage_per_gpu,    // GB/s of the job's share of the checkpoint storage
  storage_limit,      // GB/s of the whole storage
  save_fixed,         // seconds a save blocks besides its bytes
  background_saves,   // 1: uploads run beside the steps, 0: they block
  host_memory_share,  // of a node's, for what a plan keeps there and a checkpoint on its way out
  server_power,       // power of a node over that of its GPUs
  pue,                // power of the data centre over that of its nodes
  idle_power,         // share of the power that idle GPUs draw
};
inline constexpr std::size_t kRates = 18;

struct RateFacts {
  const char* key;   // in files and in --rate
  const char* unit;  // for people; empty: a plain number
  double min, max;
  const char* meaning;
};
[[nodiscard]] const RateFacts& facts_of(Rate);
[[nodiscard]] std::optional<Rate> rate_named(const std::string& key);
[[nodiscard]] std::vector<std::string> rate_names();

struct RateValue {
  double value = 0;
  std::string source, as_of;  // as_of: "2026-03"; empty: not dated
  bool assumption = false;    // nobody measured or published it
  bool operator==(const RateValue&) const = default;
};
using RateSet = std::array<std::optional<RateValue>, kRates>;

// A rates file: values for all clusters, and those of single ones, which win.
struct RateFile {
  std::string name;
  RateSet defaults;
  std::vector<std::pair<std::string, RateSet>> clusters;
};

// ConfigError (bad_file) names every unknown field, wrong type and value out of range.
[[nodiscard]] RateFile read_rates(const std::string& text, const std::string& file_name);

// All rates of one cluster.
class Rates {
 public:
  explicit Rates(RateSet values) : values_(std::move(values)) {}
  [[nodiscard]] double at(Rate) const;  // must be there
  [[nodiscard]] const std::optional<RateValue>& find(Rate rate) const {
    return values_[static_cast<std::size_t>(rate)];
  }
  void set(Rate rate, RateValue value) { values_[static_cast<std::size_t>(rate)] = std::move(value); }
  // The same with one value changed, its source kept.
  [[nodiscard]] Rates with(Rate, double value) const;

 private:
  RateSet values_;
};

// Later files win over earlier ones, a cluster's own values over the file's defaults.
[[nodiscard]] Rates rates_of(const std::vector<RateFile>&, const std::string& cluster);

// Empty when the value is allowed, else "must be above 0 and at most 1000".
[[nodiscard]] std::string rate_problem(Rate, double value);

}  // namespace pleat
