// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training data: bytes of a text as tokens, and which of them each rank sees when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/spec/workload.hpp"

namespace pleat {

// Which samples a data-parallel rank takes. Microbatch m of rank d holds samples
// [(m*dp + d)*micro_batch, +micro_batch) of the step's global batch, so that the global batch is
// the same for every dp.
class Batches {
 public:
  // Throws ConfigError when the text is shorter than one sample or has a byte the vocabulary lacks.
  Batches(std::span<const std::uint8_t> text, const WorkloadSpec&, std::int64_t vocab, int dp,
          int micro_batch);

  // First byte of sample `index` of step `step`: consecutive pieces of the text, wrapping around.
  [[nodiscard]] std::int64_t sample_start(std::int64_t step, std::int64_t index) const;
  // tokens[micro_batch * seq_len]; labels are the bytes that follow them.
  void tokens(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  void labels(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;

 private:
  void fill(std::int64_t step, int microbatch, int dp_rank, std::int64_t shift,
            std::span<std::int32_t> out) const;

  std::span<const std::uint8_t> text_;
  std::int64_t seq_len_, global_batch_;
  int dp_, micro_batch_;
};

}  // namespace pleat
