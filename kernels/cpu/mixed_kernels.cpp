// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/mixed_kernels.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/quantize.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

using Operands = cpu::MixedOperands;

void MixedKernels::embedding_bwd(View dx, View tokens, std::int64_t first, View dw) {
  Operands o(scratch_);
  CpuKernels::embedding_bwd(o.in(dx), tokens, first, o.inout(dw));
}

void MixedKernels::rms_norm(View x, View w, View y, View rstd, double eps) {
  Operands o(scratch_);
  CpuKernels::rms_norm(o.in(x), o.in(w), o.out(y), rstd, eps);
}

void MixedKernels::rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                                View dw) {
  Operands o(scratch_);
  CpuKernels::rms_norm_bwd(o.in(dy), o.in(x), o.in(w), rstd, o.in(dresidual), o.out(dx),
                           o.inout(dw));
}

void MixedKernels::slice_norm(View x, View w, View y, View rstd, double eps) {
  Operands o(scratch_);
  CpuKernels::slice_norm(o.in(x), o.in(w), o.out(y), rstd, eps);
}

void MixedKernels::slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) {
  Operands o(scratch_);  // dx keeps its other columns
  CpuKernels::slice_norm_bwd(o.in(dy), o.in(x), o.in(w), rstd, o.inout(dx), o.inout(dw));
}

void MixedKernels::layer_norm(View x, View w, View y, View rstd, double eps) {
  Operands o(scratch_);
  CpuKernels::layer_norm(o.in(x), o.in(w), o.out(y), rstd, eps);
}

void MixedKernels::layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                                  View dw) {
  Operands o(scratch_);
  CpuKernels::layer_norm_bwd(o.in(dy), o.in(x), o.in(w), rstd, o.in(dresidual), o.out(dx),
                             o.inout(dw));
}

void MixedKernels::head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape& s,
                             double eps) {
  Operands o(scratch_);
  CpuKernels::head_norm(o.in(x), o.in(wq), o.in(wk), o.out(y), rstd, s, eps);
}

void MixedKernels::head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq,
                                 View dwk, const AttentionShape& s) {
  Operands o(scratch_);
  CpuKernels::head_norm_bwd(o.in(dy), o.in(x), o.in(wq), o.in(wk), rstd, o.out(dx), o.inout(dwq),
                            o.inout(dwk), s);
}

void MixedKernels::add_bias(View b, double scale, View y) {
  Operands o(scratch_);
  CpuKernels::add_bias(o.in(b), scale, o.inout(y));
}

void MixedKernels::add_bias_bwd(View dy, double scale, View db) {
  Operands o(scratch_);
  CpuKernels::add_bias_bwd(o.in(dy), scale, o.inout(db));
}

void MixedKernels::add_positions(View w, std::int64_t seq, double scale, View x) {
  Operands o(scratch_);
  CpuKernels::add_positions(o.in(w), seq, scale, o.inout(x));
}

void MixedKernels::add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) {
  Operands o(scratch_);
  CpuKernels::add_positions_bwd(o.in(dx), seq, scale, o.inout(dw));
}

void MixedKernels::gemm(View a, bool transpose_a, View b, bool transpose_b, View c,
                        bool accumulate) {
  Operands o(scratch_);
  CpuKernels::gemm(o.in(a), transpose_a, o.in(b), transpose_b, accumulate ? o.inout(c) : o.out(c),
                   accumulate);
}

void MixedKernels::grouped_gemm(View a, View b, bool transpose_b, View counts, View c) {
  Operands o(scratch_);
  CpuKernels::grouped_gemm(o.in(a), o.in(b), transpose_b, counts, o.out(c));
}

void MixedKernels::grouped_wgrad(View a, View b, View counts, View c, bool accumulate) {
  Operands o(scratch_);
  CpuKernels::grouped_wgrad(o.in(a), o.in(b), counts, accumulate ? o.inout(c) : o.out(c),
                            accumulate);
}

void MixedKernels::grouped_bias(View b, View counts, View p, double scale, View y) {
  Operands o(scratch_);
  CpuKernels::grouped_bias(o.in(b), counts, p, scale, o.inout(y));
}

void MixedKernels::grouped_bias_bwd(View dy, View counts, View p, View db) {
  Operands o(scratch_);
  CpuKernels::grouped_bias_bwd(o.in(dy), counts, p, o.inout(db));
}

void MixedKernels::grouped_bias_probs(View dy, View b, View counts, double scale, View dp) {
  Operands o(scratch_);
  CpuKernels::grouped_bias_probs(o.in(dy), o.in(b), counts, scale, dp);
}

// In pieces, as wide numbers are many.
void MixedKernels::fill_normal(std::uint64_t key, std::int64_t first, double deviation, View out) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 16U;
  for (std::int64_t at = 0; at < out.elements(); at += kPiece) {
    Operands o(scratch_);
    const View piece{out.at(at), out.dtype, 1, std::min(kPiece, out.elements() - at)};
    CpuKernels::fill_normal(key, first + at, deviation, o.out(piece));
  }
}

void MixedKernels::copy_columns(View from, View to, const ColumnBlocks& c) {
  if (!c.add) return CpuKernels::copy_columns(from, to, c);
  Operands o(scratch_);
  CpuKernels::copy_columns(o.in(from), o.inout(to), c);
}

void MixedKernels::add(View a, View b, View c, View y) {
  Operands o(scratch_);
  CpuKernels::add(o.in(a), o.in(b), o.in(c), o.out(y));
}

void MixedKernels::swiglu(View u, View p, View y) {
  Operands o(scratch_);
  CpuKernels::swiglu(o.in(u), o.in(p), o.out(y));
}

void MixedKernels::swiglu_bwd(View dy, View u, View p, View du, View dp) {
  Operands o(scratch_);
  CpuKernels::swiglu_bwd(o.in(dy), o.in(u), o.in(p), o.out(du), o.out(dp));
}

void MixedKernels::gelu(View u, View y) {
  Operands o(scratch_);
  CpuKernels::gelu(o.in(u), o.out(y));
}

void MixedKernels::gelu_bwd(View dy, View u, View du) {
  Operands o(scratch_);
  CpuKernels::gelu_bwd(o.in(dy), o.in(u), o.out(du));
}

void MixedKernels::pointwise(Elementwise f, View a, View b, View y) {
  Operands o(scratch_);
  CpuKernels::pointwise(f, o.in(a), o.in(b), o.out(y));
}

void MixedKernels::pointwise_bwd(Elementwise f, View dy, View a, View b, View da, View db) {
  Operands o(scratch_);
  CpuKernels::pointwise_bwd(f, o.in(dy), o.in(a), o.in(b), o.out(da), o.out(db));
}

void MixedKernels::sigmoid_gate(View y, View gate, View z) {
  Operands o(scratch_);
  CpuKernels::sigmoid_gate(o.in(y), o.in(gate), o.out(z));
}

void MixedKernels::sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) {
  Operands o(scratch_);
  CpuKernels::sigmoid_gate_bwd(o.in(dz), o.in(y), o.in(gate), o.out(dy), o.out(dgate));
}

void MixedKernels::permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                               bool accumulate) {
  Operands o(scratch_);
  CpuKernels::permute_bwd(o.in(dpx), dpp, row_map, accumulate ? o.inout(dx) : o.out(dx), dprobs,
                          accumulate);
}

void MixedKernels::unpermute(View px, View row_map, View y) {
  Operands o(scratch_);
  CpuKernels::unpermute(o.in(px), row_map, o.out(y));
}

void MixedKernels::ce_stats(View logits, View labels, VocabShard shard, View stats) {
  Operands o(scratch_);
  CpuKernels::ce_stats(o.in(logits), labels, shard, stats);
}

void MixedKernels::ce_loss(View logits, View labels, VocabShard shard, View gathered, double scale,
                           const DepthRows& depth, View loss) {
  Operands o(scratch_);
  CpuKernels::ce_loss(o.inout(logits), labels, shard, gathered, scale, depth, loss);
}

void MixedKernels::quantize(View x, View counts, View y, const Quantization& q) {
  PLEAT_ASSERT(x.rows == y.rows && x.cols == y.cols);
  if (!q.hadamard) {
    Operands o(scratch_);
    return cpu::quantize(o.in(x).f32(), counts, y, q);
  }
  const View turned{scratch_.block(0, x.elements()), DType::fp32, x.rows, x.cols};
  cpu::convert(x, turned);
  cpu::hadamard(turned.f32(), x.rows, x.cols, counts);
  cpu::quantize(turned.f32(), counts, y, q);
}

View MixedKernels::aside(View like) {
  const std::int64_t floats = (bytes_of(like.dtype, like.elements()) + 3) / 4;
  like.data = unstored_.block(0, floats);
  return like;
}

void MixedKernels::rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep,
                                     View rstd, double eps,
                                     std::span<const QuantizedCopy> copies) {
  KernelSet::rms_norm_quantize(x, residual, sum, w, keep ? y : aside(y), true, rstd, eps, copies);
}

void MixedKernels::swiglu_quantize(View u, View p, View counts, View y, bool keep,
                                   std::span<const QuantizedCopy> copies) {
  KernelSet::swiglu_quantize(u, p, counts, keep ? y : aside(y), true, copies);
}

void MixedKernels::largest_of_history(View history, View amax) {
  PLEAT_ASSERT(history.cols == amax.elements() && history.rows > 0);
  for (std::int64_t g = 0; g < history.cols; ++g) {
    float most = 0;
    for (std::int64_t i = 0; i < history.rows; ++i) {
      most = std::max(most, history.f32()[i * history.cols + g]);
    }
    amax.f32()[g] = most;
  }
}

void MixedKernels::copy(View x, View y) {
  if (x.dtype == y.dtype) return CpuKernels::copy(x, y);
  cpu::convert(x, y);
}

double MixedKernels::sum_of_squares(View x) {
  if (x.dtype == DType::fp32) return CpuKernels::sum_of_squares(x);
  const auto* in = static_cast<const Bf16*>(x.data);
  return cpu::lane_sum<double>(x.elements(), [=](std::int64_t i) {
    const auto value = static_cast<double>(to_float(in[i]));
    return value * value;
  });
}

std::unique_ptr<KernelSet> cpu_kernels() { return std::make_unique<MixedKernels>(); }

}  // namespace pleat
