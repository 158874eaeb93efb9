// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// "969, 30, 1": which documents are for training, validation and test. "0.3 A 0.7 B": which
// datasets a run takes its samples from, and how many from each. Megatron-LM's rules (d98e8a6,
// megatron/core/datasets/blended_megatron_dataset_builder.py, helpers.cpp).
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

// Shares of train, valid and test, adding up to 1.
using SplitShares = std::array<double, 3>;
// One to three numbers with commas. Throws ConfigError (bad_request).
[[nodiscard]] SplitShares parse_split(const std::string&);
// The documents of a share; empty when the share is 0.
[[nodiscard]] DocumentRange documents_of(const SplitShares&, DataSplit, std::int64_t documents);

struct BlendPart {
  std::string source;
  double weight = 0;  // 0 for all: as many samples as each has
};
// "A", "A B" or "0.3 A 0.7 B"; words are separated by white space. Throws ConfigError
// (bad_request).
[[nodiscard]] std::vector<BlendPart> parse_blend(const std::string&);

// weights / sum, as numpy divides and adds.
[[nodiscard]] std::vector<double> normalized(std::span<const double> weights);
// The number of samples that a part with this weight contributes, and the number to prepare, which
// is half a percent more.
[[nodiscard]] std::int64_t share_of(std::int64_t samples, double weight);
[[nodiscard]] std::int64_t prepared_for(std::int64_t samples, double weight);

// Which part each sample comes from: always the one that is furthest behind its weight.
class BlendOrder {
 public:
  // Weights add up to 1.
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
