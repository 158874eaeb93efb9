// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a booking costs and how often its hardware fails. Each value belongs to a cluster and names
// its source. configs/rates has those that are shipped; a file of the user's own and flags override
// them.
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
  gpu_mtbf,           // GPU-hours between two failures that stop a job, on average
  mtbf_factor,        // how uncertain that is: its median over its 10% quantile
  mtbf_factor_small,  // the same, for jobs of fewer GPUs than small_job
  small_job,          // GPUs
  restart,            // minutes to notice a failure, replace the node and start; loading is extra
  repair,             // hours until a failed node is back
  replaced_share,     // share of the failures after which a node must be replaced
  spare_target,       // probability that there are enough spares
  storage_per_gpu,    // GB/s to checkpoint storage for each GPU of the job
  storage_limit,      // GB/s of that storage as a whole
  save_fixed,         // seconds that a save blocks training whatever its size
  background_saves,   // 1: checkpoints are written beside the steps; 0: training waits for them
  host_memory_share,  // share of a node's memory that a plan and a checkpoint under way may take
  server_power,       // power of a node over the power of its GPUs
  pue,                // power of the data centre over the power of its nodes
  idle_power,         // power of an idle GPU over that of a busy one
};
inline constexpr std::size_t kRates = 18;

struct RateFacts {
  const char* key;   // in files and in --rate
  const char* unit;  // as people read it; empty: a plain number
  double min, max;
  const char* meaning;
};
[[nodiscard]] const RateFacts& facts_of(Rate);
[[nodiscard]] std::optional<Rate> rate_named(const std::string& key);
[[nodiscard]] std::vector<std::string> rate_names();

struct RateValue {
  double value = 0;
  std::string source, as_of;  // as_of: "2026-03"; empty: not dated
  bool assumption = false;    // a guess: nobody measured or published it
  std::string basis = {};     // of a price: "on demand"; empty: not said, or one's own
  bool operator==(const RateValue&) const = default;
};
using RateSet = std::array<std::optional<RateValue>, kRates>;

// A rates file: values for all clusters, and values of single clusters, which take precedence.
struct RateFile {
  std::string name;
  RateSet defaults;
  std::vector<std::pair<std::string, RateSet>> clusters;
};

// Throws ConfigError (bad_file), which names every unknown field, wrong type and value out of
// range.
[[nodiscard]] RateFile read_rates(const std::string& text, const std::string& file_name);

// All rates of one cluster.
class Rates {
 public:
  explicit Rates(RateSet values) : values_(std::move(values)) {}
  [[nodiscard]] double at(Rate) const;  // which must have a value
  [[nodiscard]] const std::optional<RateValue>& find(Rate rate) const {
    return values_[static_cast<std::size_t>(rate)];
  }
  void set(Rate rate, RateValue value) {
    values_[static_cast<std::size_t>(rate)] = std::move(value);
  }
  // A copy with one value changed. The value keeps its source.
  [[nodiscard]] Rates with(Rate, double value) const;

 private:
  RateSet values_;
};

// Where several values are given, that of a later file counts, and within a file the cluster's own.
[[nodiscard]] Rates rates_of(const std::vector<RateFile>&, const std::string& cluster);

// What is wrong with the value, "must be above 0 and at most 1000"; empty when nothing is.
[[nodiscard]] std::string rate_problem(Rate, double value);

}  // namespace pleat
