// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention on packed qkv, forward and backward; on a GPU multi-head latent
// attention too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

AttentionSize size_of(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t value,
                      AttentionLayout layout, bool backward) {
  return {.rows = static_cast<double>(batch * seq),
          .heads = static_cast<double>(heads),
          .seq = static_cast<double>(seq),
          .value_head = static_cast<double>(value),
          .layout = layout,
          .backward = backward};
}

KernelPoint point(PointSet set, bool backward, const AttentionShape& s) {
  const double tokens = static_cast<double>(s.batch * s.seq);
  const double scores = tokens * static_cast<double>(s.seq * s.heads) / 2;  // causal half
  const std::int64_t rows = s.batch * s.seq, qkv = rows * (s.heads + 2 * s.kv_groups) * s.head_dim;
  const std::int64_t o = rows * s.heads * s.head_dim, lse = rows * s.heads;
  // Two products forward, five backward (the scores are computed again).
  const double flops = 2 * scores * static_cast<double>(s.head_dim) * (backward ? 5 : 2);
  KernelPoint p{
      .name = fmt::format("attention{} {}x{} {} heads of {}, {} groups", backward ? ".bwd" : "",
                          s.batch, s.seq, s.heads, s.head_dim, s.kv_groups),
      .kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
      .flops = flops,
      .bytes = point_bytes(set, backward ? 2 * qkv + 2 * o : qkv + o, lse),
      .math = floats_of(set),
      .prepare = {},
      .shape = size_of(s.batch, s.seq, s.heads, s.head_dim, AttentionLayout::gqa, backward)};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer packed(bench, rows, (s.heads + 2 * s.kv_groups) * s.head_dim, seed);
    const Buffer out(bench, rows, s.heads * s.head_dim, seed + 1),
        sums(bench, rows, s.heads, seed + 2, DType::fp32);
    if (!backward) {
      return [=, &bench] { bench.kernels().attention(packed.view(), out.view(), sums.view(), s); };
    }
    bench.kernels().attention(packed.view(), out.view(), sums.view(), s);
    const Buffer gradient(bench, rows, s.heads * s.head_dim, seed + 3);
    const Buffer result(bench, rows, (s.heads + 2 * s.kv_groups) * s.head_dim, seed + 4);
    return [=, &bench] {
      bench.kernels().attention_bwd(gradient.view(), packed.view(), out.view(), sums.view(),
                                    result.view(), s);
    };
  };
  return p;
}

KernelPoint mla_point(bool backward, const MlaShape& s) {
  const std::int64_t rows = s.batch * s.seq, width = s.nope + s.rope;
  const std::int64_t q = rows * s.heads * width, kv = rows * s.heads * (s.nope + s.v);
  const std::int64_t kpe = rows * (s.kv_lora + s.rope), o = rows * s.heads * s.v;
  const double scores = static_cast<double>(rows * s.seq * s.heads) / 2;
  // Scores and their gradients by q and k have width columns, the other two products v.
  const double columns = static_cast<double>(backward ? 3 * width + 2 * s.v : width + s.v);
  KernelPoint p{
      .name = fmt::format("mla_attention{} {}x{} {} heads of {} and {}", backward ? ".bwd" : "",
                          s.batch, s.seq, s.heads, width, s.v),
      .kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
      .flops = 2 * scores * columns,
      .bytes = point_bytes(PointSet::gpu, (q + kv + kpe + o) * (backward ? 2 : 1), rows * s.heads),
      .math = DType::bf16,
      .prepare = {},
      .shape = size_of(s.batch, s.seq, s.heads, s.v, AttentionLayout::mla, backward)};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const std::int64_t qc = s.heads * width, kvc = s.heads * (s.nope + s.v),
                       pc = s.kv_lora + s.rope;
    const Buffer x(bench, rows, qc, seed), y(bench, rows, kvc, seed + 1),
        z(bench, rows, pc, seed + 2);
    const Buffer out(bench, rows, s.heads * s.v, seed + 3),
        sums(bench, rows, s.heads, seed + 4, DType::fp32);
    if (!backward) {
      return [=, &bench] {
        bench.kernels().mla_attention(x.view(), y.view(), z.view(), out.view(), sums.view(), s);
      };
    }
    bench.kernels().mla_attention(x.view(), y.view(), z.view(), out.view(), sums.view(), s);
    const Buffer d_o(bench, rows, s.heads * s.v, seed + 5), dx(bench, rows, qc, seed + 6);
    const Buffer dy(bench, rows, kvc, seed + 7), dz(bench, rows, pc, seed + 8);
    return [=, &bench] {
      bench.kernels().mla_attention_bwd(d_o.view(), x.view(), y.view(), z.view(), out.view(),
                                        sums.view(), dx.view(), dy.view(), dz.view(), s);
    };
  };
  return p;
}

std::vector<KernelPoint> gpu_attention_points() {
  std::vector<KernelPoint> points;
  for (const bool backward : {false, true}) {
    for (std::int64_t seq = 1024; seq <= 131072; seq *= 2) {
      const std::int64_t batch = std::max<std::int64_t>(1, 8192 / seq);
      for (const auto& [heads, groups] :
           {std::pair<std::int64_t, std::int64_t>{32, 8}, {32, 4}, {16, 16}}) {
        points.push_back(point(PointSet::gpu, backward,
                               {.batch = batch,
                                .seq = seq,
                                .heads = heads,
                                .kv_groups = groups,
                                .head_dim = 128,
                                .scale = 1 / std::sqrt(128.0)}));
      }
      if (seq > 32768) continue;
      for (const std::int64_t heads : {64, 128}) {
        points.push_back(mla_point(backward, {.batch = batch,
                                              .seq = seq,
                                              .heads = heads,
                                              .nope = 128,
                                              .rope = 64,
                                              .v = 128,
                                              .kv_lora = 512,
                                              .scale = 1 / std::sqrt(192.0)}));
      }
    }
  }
  return points;
}

}  // namespace

KernelPoint sustained_attention() {
  return point(PointSet::gpu, false,
               {.batch = 1,
                .seq = 8192,
                .heads = 32,
                .kv_groups = 8,
                .head_dim = 128,
                .scale = 1 / std::sqrt(128.0)});
}

std::vector<KernelPoint> attention_points(PointSet set) {
  if (set == PointSet::gpu) return gpu_attention_points();
  std::vector<KernelPoint> points;
  for (const bool backward : {false, true}) {
    for (const auto& [batch, seq, heads, dim] : {std::array<std::int64_t, 4>{8, 128, 4, 32},
                                                 {4, 256, 8, 32},
                                                 {4, 256, 8, 64},
                                                 {8, 128, 8, 64},
                                                 {2, 512, 8, 64},
                                                 {1, 1024, 4, 64}}) {
      points.push_back(point(set, backward,
                             {.batch = batch,
                              .seq = seq,
                              .heads = heads,
                              .kv_groups = heads / 2,
                              .head_dim = dim,
                              .scale = 1 / std::sqrt(static_cast<double>(dim))}));
    }
    for (std::int64_t seq : {64, 128, 256}) {
      for (std::int64_t heads : {2, 4, 8}) {
        const std::int64_t dim = heads == 8 ? 16 : 32;
        points.push_back(point(set, backward,
                               {.batch = heads == 4 ? 2 : 1,
                                .seq = seq,
                                .heads = heads,
                                .kv_groups = 2,
                                .head_dim = dim,
                                .scale = 1 / std::sqrt(static_cast<double>(dim))}));
      }
    }
  }
  return points;
}

}  // namespace pleat
