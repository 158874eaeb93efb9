// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// cuDNN's attention for bf16: whole calls, and calls for single blocks of keys.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/score_gradients.hpp"

namespace pleat::cuda {

// cuDNN's attention for bf16, where its front end's headers were found at build time.

// Queries of one run that see all of these keys, or (causal) row i the first i + 1 of as many.
struct AttentionBlock {
  std::int64_t heads = 0;
  double scale = 1;
  HeadColumns q, k, v;
  bool causal = false;
};

class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  // False where cuDNN has no kernel for it or operands are not bf16: nothing was done.
  virtual bool forward(View qkv, View o, View lse, const AttentionShape&) = 0;
  virtual bool backward(View d_o, View qkv, View o, View lse, View dqkv, const AttentionShape&) = 0;
  virtual bool forward(View q, View kv, View kpe, View o, View lse, const MlaShape&) = 0;
  virtual bool backward(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv,
                        View dkpe, const MlaShape&) = 0;
  // All keys in one piece that are packed with the queries, rows that see what as_sequences knows.
  virtual bool forward(const AttentionPiece&, HeadColumns o, View lse) = 0;
  // The forward pass of a piece in fp8, of codes with one scale for queries, keys and values each;
  // o is rounded to codes too. Whether it does that for a piece whose o has no other columns.
  virtual bool forward_of_codes(const AttentionPiece&, HeadColumns o, View lse) = 0;
  virtual bool takes_codes(const AttentionPiece&, HeadColumns o) = 0;
  virtual bool backward(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                        const AttentionPieceGradient&) = 0;
  virtual bool forward(const AttentionBlock&, HeadColumns o, View lse) = 0;
  // Writes dq[queries, heads * width], dk[keys, groups * width], dv[keys, groups * v.width].
  virtual bool backward(const AttentionBlock&, HeadColumns d_o, HeadColumns o, View lse, View dq,
                        View dk, View dv) = 0;
};

// cuDNN's version, or why it is not used.
[[nodiscard]] std::string cudnn_status();

// None where this build or this machine has no cuDNN.
[[nodiscard]] std::unique_ptr<FusedAttention> fused_attention(Resources&, bool deterministic);

// KernelSet::attention_piece and attention_piece_bwd for pieces whose queries see one block of keys
// (visible_keys.hpp): one call of the library for every run of queries. False if the library has no
// kernel for it, or the piece is no such block; nothing was done then.
[[nodiscard]] bool forward_blocks(FusedAttention&, Resources&, const AttentionPiece&, HeadColumns o,
                                  View lse, bool resume);
// `kernels` adds up columns.
[[nodiscard]] bool backward_blocks(FusedAttention&, Resources&, KernelSet& kernels,
                                   const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                                   const AttentionPieceGradient&);

[[nodiscard]] inline ScoreGradients scores_of(const AttentionShape& s) {
  return {s.batch, s.heads, s.kv_groups, s.seq, s.seq};
}
// KernelSet::attention_bwd where the gradients of scores are too large to keep (goes_in_runs):
// `rows` queries at a time, against the keys before them and those on the diagonal. Gradients are
// added up in fp32, keys' and values' over the runs in their order: the same bits every time. False
// if the library has no kernel for it; some of dqkv may have been written then.
[[nodiscard]] bool backward_in_runs(FusedAttention&, Resources&, KernelSet& kernels, View d_o,
                                    View qkv, View o, View lse, View dqkv, const AttentionShape&,
                                    std::int64_t rows);

}  // namespace pleat::cuda
