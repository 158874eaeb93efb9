// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pieces whose queries see one block of keys (visible_block.hpp), wherever these lie: a call of the
// library for every run of queries.
#pragma once

#include "kernels/cuda/fused_attention.hpp"

namespace pleat::cuda {

// KernelSet::attention_piece and attention_piece_bwd. False where the library has no kernel for it, or
// the piece is something else: nothing was done.
[[nodiscard]] bool forward_blocks(FusedAttention&, Resources&, const AttentionPiece&, HeadColumns o,
                                  View lse, bool resume);
// `kernels` adds up columns.
[[nodiscard]] bool backward_blocks(FusedAttention&, Resources&, KernelSet& kernels,
                                   const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                                   const AttentionPieceGradient&);

}  // namespace pleat::cuda
