// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two texts that say which data a run takes, with the rules of Megatron-LM (d98e8a6,
// megatron/core/datasets/blended_megatron_dataset_builder.py, helpers.cpp). "969, 30, 1" shares
// documents out to training, validation and test. "0.3 A 0.7 B" mixes samples of several datasets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/data/sample_order.hpp"

namespace pleat {

enum class DataSplit { train, valid, test };
[[nodiscard]] const char* name_of(DataSplit);

// The shares of training, validation and test. They add up to 1.
using SplitShares = std::array<double, 3>;
// Reads one to three numbers with commas between. Throws ConfigError (bad_request) for other texts.
[[nodiscard]] SplitShares parse_split(const std::string&);
// The documents that a share gets; none when it is 0.
[[nodiscard]] DocumentRange documents_of(const SplitShares&, DataSplit, std::int64_t documents);

struct BlendPart {
  std::string source;
  double weight = 0;  // 0 for all datasets: each gives as many samples as it has
};
// Reads "A", "A B" or "0.3 A 0.7 B", with white space between the words. Throws ConfigError
// (bad_request) for other texts.
[[nodiscard]] std::vector<BlendPart> parse_blend(const std::string&);

// The weights over their sum, rounded as numpy would.
[[nodiscard]] std::vector<double> normalized(std::span<const double> weights);
// How many samples a dataset with this weight contributes, and how many to prepare: half a percent
// more.
[[nodiscard]] std::int64_t share_of(std::int64_t samples, double weight);
[[nodiscard]] std::int64_t prepared_for(std::int64_t samples, double weight);

// Which dataset each sample comes from: always the one that lags most behind its weight.
class BlendOrder {
 public:
  // The weights must add up to 1.
  BlendOrder(std::span<const double> weights, std::int64_t samples);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(part_.size()); }
  [[nodiscard]] int part(std::int64_t sample) const {
    return part_[static_cast<std::size_t>(sample)];
  }
  [[nodiscard]] std::int64_t sample_of_part(std::int64_t sample) const {
    return sample_[static_cast<std::size_t>(sample)];
  }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  std::vector<std::int16_t> part_;
  std::vector<std::int64_t> sample_, counts_;
};

}  // namespace pleat
