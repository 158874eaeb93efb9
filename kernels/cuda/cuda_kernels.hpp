// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The kernels on one CUDA stream. fp32 and bf16 operands, each by itself; arithmetic and sums are
// fp32, or fp64 where the CPU's are. Every result is the same bitwise every time on the same GPU.
// Views point to device memory; RopeShape::positions and AttentionPiece::visible to the host's.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_options.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {
namespace cuda {
class Resources;
class DenseGemm;
class FusedAttention;
class GroupedLibrary;
}  // namespace cuda

class CudaKernels final : public KernelSet {
 public:
  // The device must outlive the set.
  explicit CudaKernels(const cuda::CudaDevice& device, const CudaOptions& options = {});
  ~CudaKernels() override;
  [[nodiscard]] std::uint64_t age() const;  // cuda::Resources::age

  // embedding.cu
  void embedding(View tokens, View w, std::int64_t first, View x) override;
  void embedding_bwd(View dx, View tokens, std::int64_t first, View dw) override;
  // norms.cpp
  void rms_norm(View x, View w, View y, View rstd, double eps) override;
  void rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw) override;
  void slice_norm(View x, View w, View y, View rstd, double eps) override;
  void slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) override;
  // norms.cpp
  void layer_norm(View x, View w, View y, View rstd, double eps) override;
  void layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                      View dw) override;
  // bias.cu
  void add_bias(View b, double scale, View y) override;
  void add_bias_bwd(View dy, double scale, View db) override;
  void add_positions(View w, std::int64_t seq, double scale, View x) override;
  void add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) override;
  // norms.cpp
  void head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape&,
                 double eps) override;
  void head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq, View dwk,
                     const AttentionShape&) override;
  // gemm.cpp
  void gemm(View a, bool transpose_a, View b, bool transpose_b, View c, bool accumulate) override;
  void grouped_gemm(View a, View b, bool transpose_b, View counts, View c) override;
  void grouped_wgrad(View a, View b, View counts, View c, bool accumulate) override;
  // bias.cu
  void grouped_bias(View b, View counts, View p, double scale, View y) override;
  void grouped_bias_bwd(View dy, View counts, View p, View db) override;
  void grouped_bias_probs(View dy, View b, View counts, double scale, View dp) override;
  // rope.cu
  void rope(View x, const RopeShape&, bool inverse) override;
  // attention.cpp
  void attention(View qkv, View o, View lse, const AttentionShape&) override;
  void attention_bwd(View d_o, View qkv, View o, View lse, View dqkv,
                     const AttentionShape&) override;
  void mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape&) override;
  void mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv,
                         View dkpe, const MlaShape&) override;
  void attention_piece(const AttentionPiece&, HeadColumns o, View lse, bool resume) override;
  void attention_piece_bwd(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                           const AttentionPieceGradient&) override;
  // sinks.cu
  void start_at_sinks(View sinks, View o, View lse) override;
  void sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) override;
  // elementwise.cu
  void copy_columns(View from, View to, const ColumnBlocks&) override;
  // elementwise.cu
  void concat_columns(View a, View b, View y) override;
  void concat_columns_bwd(View dy, View da, View db) override;
  void add(View a, View b, View c, View y) override;
  // swiglu.cu
  void swiglu(View u, View p, View y) override;
  void swiglu_bwd(View dy, View u, View p, View du, View dp) override;
  // elementwise.cu
  void gelu(View u, View y) override;
  void gelu_bwd(View dy, View u, View du) override;
  // swiglu.cu
  void sigmoid_gate(View y, View gate, View z) override;
  void sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) override;
  // pointwise.cu
  void pointwise(Elementwise, View a, View b, View y) override;
  void pointwise_bwd(Elementwise, View dy, View a, View b, View da, View db) override;
  // router_topk.cu, router_topk.cu
  void router_topk(View logits, View bias, View probs, View experts, const RouterShape&) override;
  void router_topk_bwd(View dprobs, View logits, View probs, View experts, View dlogits,
                       const RouterShape&) override;
  // experts.cu
  void expert_counts(View experts, View counts) override;
  // permute_map.cu
  void drop_tokens(View probs, View experts, std::int64_t capacity, View kept,
                   View counts) override;
  // router_losses.cu
  void router_stats(View logits, View experts, View stats, const RouterShape&,
                    const RouterRows&) override;
  void router_losses(View stats, const RouterLossFactors&, double scale, View values) override;
  void router_losses_bwd(View logits, View stats, View dlogits, const RouterShape&,
                         const RouterRows&, const RouterLossFactors&) override;
  // experts.cu
  void count_load(View experts, View load) override;
  void update_bias(View load, View bias, std::int64_t experts, double step) override;
  // permute.cu
  void permute(View x, View probs, View experts, View counts, std::int64_t first, View px, View pp,
               View row_map) override;
  void permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                   bool accumulate) override;
  void unpermute(View px, View row_map, View y) override;
  void unpermute_bwd(View dy, View row_map, View dpx) override;
  // chunks.cu
  void sort_chunks(View x, View all_counts, const ChunkShape&, View y) override;
  void unsort_chunks(View y, View all_counts, const ChunkShape&, View x) override;
  void local_counts(View all_counts, std::int64_t first_expert, std::int64_t local,
                    View counts) override;
  // loss.cu
  void ce_stats(View logits, View labels, VocabShard, View stats) override;
  void ce_loss(View logits, View labels, VocabShard, View gathered, double scale,
               const DepthRows&, View loss) override;
  // quantize.cu
  void quantize(View x, View counts, View y, const Quantization&) override;
  void largest_of_history(View history, View amax) override;
  // quantize_copies.cu
  void quantize_copies(View x, View counts, std::span<const QuantizedCopy>) override;
  void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep, View rstd,
                         double eps, std::span<const QuantizedCopy>) override;
  void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                       std::span<const QuantizedCopy>) override;
  // block_scales.cu
  void read_scales(View y) override;
  void write_scales(View y) override;
  // optimizer.cu
  void zero(View x) override;
  void copy(View x, View y) override;
  double sum_of_squares(View x) override;
  void adamw(View g, View m, View v, View w, double grad_scale, const AdamW&) override;
  // optimizer_kinds.cu
  void sgd(View g, View m, View w, double grad_scale, const Sgd&) override;
  void lamb(View g, View m, View v, View w, double grad_scale, const AdamW&) override;
  void muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) override;
  void newton_schulz(View x, View work) override;
  void scaled_step(View u, View w, double keep, double rate) override;
  // moments.cu
  void adamw_narrow(View g, Moment m, Moment v, View w, double grad_scale, const AdamW&,
                    std::span<const ElementSpan> undecayed) override;
  void read_moment(Moment from, View to) override;
  void write_moment(View from, Moment to) override;
  // optimizer.cu
  void join_halves(View weights, View rests, View to) override;
  void split_halves(View from, View weights, View rests) override;

 private:
  std::unique_ptr<cuda::Resources> resources_;
  std::unique_ptr<cuda::DenseGemm> dense_;
  std::unique_ptr<cuda::GroupedLibrary> groups_;
  std::unique_ptr<cuda::FusedAttention> fused_;  // none: our own kernels alone
  bool codes_;                                   // CudaOptions::attention_of_codes
};

[[nodiscard]] std::unique_ptr<KernelSet> cuda_kernels(const cuda::CudaDevice& device,
                                                      const CudaOptions& options = {});

}  // namespace pleat
