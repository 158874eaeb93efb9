// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a stage's loss accumulator holds. All of it is summed over microbatches and ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/spec/model.hpp"

namespace pleat {

// Places in StageProgram::loss. Models without further losses have the first alone.
inline constexpr std::size_t kCrossEntropy = 0, kMtp = 1, kAux = 2, kSeqAux = 3, kZ = 4;
inline constexpr std::size_t kLosses = 5;
using Losses = std::array<double, kLosses>;

[[nodiscard]] bool has_router_losses(const ModelSpec&);
[[nodiscard]] std::int64_t loss_elements(const ModelSpec&);

// Factors of the sums that router_stats makes: of assignments F and scores P of an expert, by
// sequence and over the microbatch, and of squared log-sum-exps Z. docs/MODEL.md section 13.
struct RouterLossFactors {
  double aux = 0, seq_aux = 0, z = 0;
};
// With E experts, k a token, n sequences of s tokens in a microbatch and N in the global batch:
// aux E/(k (ns)²) n/N, seq_aux E/(k s² N), z 1/(N s), each times the model's factor.
[[nodiscard]] RouterLossFactors router_loss_factors(const MoeSpec&, std::int64_t micro_batch,
                                                    std::int64_t global_batch, std::int64_t seq);

}  // namespace pleat
