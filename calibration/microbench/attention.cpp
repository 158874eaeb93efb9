// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention on packed qkv, forward and backward.
#include <fmt/format.h>

#include <cmath>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

KernelPoint point(bool backward, const AttentionShape& s) {
  const double tokens = static_cast<double>(s.batch * s.seq);
  const double scores = tokens * static_cast<double>(s.seq * s.heads) / 2;  // causal half
  const double qkv = tokens * static_cast<double>((s.heads + 2 * s.kv_groups) * s.head_dim);
  const double o = tokens * static_cast<double>(s.heads * s.head_dim);
  const double lse = tokens * static_cast<double>(s.heads);
  // Two products forward, five backward (the scores are computed again).
  const double flops = 2 * scores * static_cast<double>(s.head_dim) * (backward ? 5 : 2);
  KernelPoint p{
      .name = fmt::format("attention{} {}x{} {} heads of {}, {} groups", backward ? ".bwd" : "",
                          s.batch, s.seq, s.heads, s.head_dim, s.kv_groups),
      .kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
      .flops = flops,
      .bytes = 4 * (backward ? 2 * qkv + 2 * o + lse : qkv + o + lse),
      .prepare = {}};
  p.prepare = [=](KernelSet& kernels, unsigned seed) -> std::function<void()> {
    const std::int64_t rows = s.batch * s.seq;
    const Buffer packed(rows, (s.heads + 2 * s.kv_groups) * s.head_dim, seed);
    const Buffer out(rows, s.heads * s.head_dim, seed + 1), sums(rows, s.heads, seed + 2);
    if (!backward) {
      return [=, &kernels] { kernels.attention(packed.view(), out.view(), sums.view(), s); };
    }
    kernels.attention(packed.view(), out.view(), sums.view(), s);
    const Buffer gradient(rows, s.heads * s.head_dim, seed + 3);
    const Buffer result(rows, (s.heads + 2 * s.kv_groups) * s.head_dim, seed + 4);
    return [=, &kernels] {
      kernels.attention_bwd(gradient.view(), packed.view(), out.view(), sums.view(), result.view(),
                            s);
    };
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> attention_points() {
  std::vector<KernelPoint> points;
  for (const bool backward : {false, true}) {
    for (std::int64_t seq : {32, 64, 128, 256}) {
      for (std::int64_t heads : {2, 4, 8}) {
        const std::int64_t dim = heads == 8 ? 16 : 32;
        points.push_back(point(backward, {.batch = heads == 4 ? 2 : 1,
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
