// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Forward FLOPs of the parts of a model, and layouts that balance them over virtual stages.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/layout.hpp"
#include "core/quantity.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// Matrix products and causal attention of one token's forward pass; router, norms left out.
struct ForwardFlops {
  Flops dense_layer, moe_layer, head, mtp;
};
[[nodiscard]] ForwardFlops forward_flops(const ModelSpec&, std::int64_t seq_len);
[[nodiscard]] Flops forward_flops(const VirtualStage&, const ModelSpec&, const ForwardFlops&);

// The FLOPs of the largest virtual stage.
[[nodiscard]] Flops bottleneck(const std::vector<VirtualStage>&, const ModelSpec&,
                               const ForwardFlops&);

// The contiguous partition with the smallest bottleneck; among equal ones that whose later stages
// are lighter. No stage is empty.
[[nodiscard]] std::vector<VirtualStage> balanced_layout(const ModelSpec&, std::int64_t seq_len,
                                                        int pp, int vpp);

}  // namespace pleat
