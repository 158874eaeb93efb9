// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CPU kernels for operands in bf16, or quantised: widened on load, computed in fp32, rounded
// once on store. Functions that are not here take fp32 alone, or move elements of any type.
#pragma once

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/mixed_operands.hpp"

namespace pleat {

class MixedKernels final : public CpuKernels {
 public:
  void embedding_bwd(View dx, View tokens, std::int64_t first, View dw) override;
  void rms_norm(View x, View w, View y, View rstd, double eps) override;
  void rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw) override;
  void slice_norm(View x, View w, View y, View rstd, double eps) override;
  void slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) override;
  void layer_norm(View x, View w, View y, View rstd, double eps) override;
  void layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                      View dw) override;
  void head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape&,
                 double eps) override;
  void head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq, View dwk,
                     const AttentionShape&) override;
  void add_bias(View b, double scale, View y) override;
  void add_bias_bwd(View dy, double scale, View db) override;
  void add_positions(View w, std::int64_t seq, double scale, View x) override;
  void add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) override;
  void gemm(View a, bool transpose_a, View b, bool transpose_b, View c, bool accumulate) override;
  void grouped_gemm(View a, View b, bool transpose_b, View counts, View c) override;
  void grouped_wgrad(View a, View b, View counts, View c, bool accumulate) override;
  void grouped_bias(View b, View counts, View p, double scale, View y) override;
  void grouped_bias_bwd(View dy, View counts, View p, View db) override;
  void grouped_bias_probs(View dy, View b, View counts, double scale, View dp) override;
  void start_at_sinks(View sinks, View o, View lse) override;
  void sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) override;
  void rope(View x, const RopeShape&, bool inverse) override;
  void attention(View qkv, View o, View lse, const AttentionShape&) override;
  void attention_bwd(View d_o, View qkv, View o, View lse, View dqkv,
                     const AttentionShape&) override;
  void mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape&) override;
  void mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv,
                         View dkpe, const MlaShape&) override;
  void attention_piece(const AttentionPiece&, HeadColumns o, View lse, bool resume) override;
  void attention_piece_bwd(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                           const AttentionPieceGradient&) override;
  void copy_columns(View from, View to, const ColumnBlocks&) override;
  void add(View a, View b, View c, View y) override;
  void swiglu(View u, View p, View y) override;
  void swiglu_bwd(View dy, View u, View p, View du, View dp) override;
  void gelu(View u, View y) override;
  void gelu_bwd(View dy, View u, View du) override;
  void pointwise(Elementwise, View a, View b, View y) override;
  void pointwise_bwd(Elementwise, View dy, View a, View b, View da, View db) override;
  void sigmoid_gate(View y, View gate, View z) override;
  void sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) override;
  void permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                   bool accumulate) override;
  void unpermute(View px, View row_map, View y) override;
  void ce_stats(View logits, View labels, VocabShard, View stats) override;
  void ce_loss(View logits, View labels, VocabShard, View gathered, double scale, const DepthRows&,
               View loss) override;
  void quantize(View x, View counts, View y, const Quantization&) override;
  void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep, View rstd,
                         double eps, std::span<const QuantizedCopy>) override;
  void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                       std::span<const QuantizedCopy>) override;
  void largest_of_history(View history, View amax) override;
  void copy(View x, View y) override;
  double sum_of_squares(View x) override;
  void adamw(View g, View m, View v, View w, double grad_scale, const AdamW&) override;
  void sgd(View g, View m, View w, double grad_scale, const Sgd&) override;
  void lamb(View g, View m, View v, View w, double grad_scale, const AdamW&) override;
  void muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) override;
  void scaled_step(View u, View w, double keep, double rate) override;

 private:
  [[nodiscard]] View aside(View like);

  cpu::ScratchBlocks scratch_;
  cpu::ScratchBlocks unstored_;  // what is quantised and not kept
};

}  // namespace pleat
