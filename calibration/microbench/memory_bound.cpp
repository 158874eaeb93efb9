// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that move data: norms, activations, permutation, rotary embedding, copies; a GPU's
// optimizer. Each family is fitted by itself: a kernel with an exponential in every element runs at
// a fraction of a copy's rate.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

using Prepare = std::function<std::function<void()>(Bench&, unsigned)>;

// floats: elements of the set's type; words: of fp32 or i32.
struct Elements {
  std::int64_t floats = 0, words = 0;
};

KernelPoint point(PointSet set, KernelClass kernel, const char* label, std::int64_t rows,
                  std::int64_t cols, Elements elements, Prepare prepare) {
  return {.name = fmt::format("{} {}x{}", label, rows, cols),
          .kernel = kernel,
          .flops = 0,
          .bytes = point_bytes(set, elements.floats, elements.words),
          .math = floats_of(set),
          .prepare = std::move(prepare)};
}

// Where the two copies of each of `tokens` tokens lie: 7 is prime to the number of rows, a power
// of two.
std::vector<std::int32_t> row_map(std::int64_t tokens) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(2 * tokens));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::int32_t>(i * 7 % rows.size());
  return rows;
}

void append(PointSet set, std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  points.push_back(point(
      set, KernelClass::norm, "rms_norm", t, h, {2 * n + h, t}, [=](Bench& bench, unsigned seed) {
        const Buffer x(bench, t, h, seed), w(bench, 1, h, seed + 1), y(bench, t, h, seed + 2),
            rstd(bench, t, 1, seed + 3, DType::fp32);
        return [=, &bench] {
          bench.kernels().rms_norm(x.view(), w.view(), y.view(), rstd.view(), 1e-6);
        };
      }));
  points.push_back(point(set, KernelClass::norm, "rms_norm_bwd", t, h, {3 * n + h, 2 * h + t},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer dy(bench, t, h, seed), x(bench, t, h, seed + 1),
                               w(bench, 1, h, seed + 2), rstd(bench, t, 1, seed + 3, DType::fp32);
                           const Buffer dx(bench, t, h, seed + 4),
                               dw(bench, 1, h, seed + 5, DType::fp32);
                           return [=, &bench] {
                             bench.kernels().rms_norm_bwd(dy.view(), x.view(), w.view(),
                                                          rstd.view(), {}, dx.view(), dw.view());
                           };
                         }));
  points.push_back(point(set, KernelClass::activation, "swiglu", t, h, {3 * n},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer u(bench, t, 2 * h, seed), y(bench, t, h, seed + 1);
                           return [=, &bench] { bench.kernels().swiglu(u.view(), {}, y.view()); };
                         }));
  points.push_back(point(
      set, KernelClass::activation, "swiglu_bwd", t, h, {5 * n}, [=](Bench& bench, unsigned seed) {
        const Buffer dy(bench, t, h, seed), u(bench, t, 2 * h, seed + 1),
            du(bench, t, 2 * h, seed + 2);
        return [=, &bench] { bench.kernels().swiglu_bwd(dy.view(), u.view(), {}, du.view(), {}); };
      }));
  points.push_back(
      point(set, KernelClass::memory_bound, "add", t, h, {3 * n}, [=](Bench& bench, unsigned seed) {
        const Buffer a(bench, t, h, seed), b(bench, t, h, seed + 1), y(bench, t, h, seed + 2);
        return [=, &bench] { bench.kernels().add(a.view(), b.view(), {}, y.view()); };
      }));
  // Two copies a token: reads y rows and the map, writes their sum.
  points.push_back(point(set, KernelClass::permute, "unpermute", t, h, {3 * n, 2 * t},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer px(bench, 2 * t, h, seed), y(bench, t, h, seed + 1);
                           const IndexBuffer map(bench, row_map(t), 2);
                           return [=, &bench] {
                             bench.kernels().unpermute(px.view(), map.view(), y.view());
                           };
                         }));
  points.push_back(point(set, KernelClass::permute, "unpermute_bwd", t, h, {3 * n, 2 * t},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer dy(bench, t, h, seed), dpx(bench, 2 * t, h, seed + 1);
                           const IndexBuffer map(bench, row_map(t), 2);
                           return [=, &bench] {
                             bench.kernels().unpermute_bwd(dy.view(), map.view(), dpx.view());
                           };
                         }));
  points.push_back(
      point(set, KernelClass::activation, "gelu", t, h, {2 * n}, [=](Bench& bench, unsigned seed) {
        const Buffer u(bench, t, h, seed), y(bench, t, h, seed + 1);
        return [=, &bench] { bench.kernels().gelu(u.view(), y.view()); };
      }));
}

// On a CPU too: probabilities in the activation, norms of single heads.
void append_cpu(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  constexpr PointSet set = PointSet::cpu;
  const std::int64_t n = t * h;
  points.push_back(point(set, KernelClass::activation, "swiglu with probabilities", t, h,
                         {3 * n, t}, [=](Bench& bench, unsigned seed) {
                           const Buffer u(bench, t, 2 * h, seed),
                               p(bench, t, 1, seed + 1, DType::fp32), y(bench, t, h, seed + 2);
                           return [=, &bench] {
                             bench.kernels().swiglu(u.view(), p.view(), y.view());
                           };
                         }));
  points.push_back(point(
      set, KernelClass::activation, "swiglu_bwd with probabilities", t, h, {5 * n, 2 * t},
      [=](Bench& bench, unsigned seed) {
        const Buffer dy(bench, t, h, seed), u(bench, t, 2 * h, seed + 1),
            du(bench, t, 2 * h, seed + 2);
        const Buffer p(bench, t, 1, seed + 3, DType::fp32), dp(bench, t, 1, seed + 4, DType::fp32);
        return [=, &bench] {
          bench.kernels().swiglu_bwd(dy.view(), u.view(), p.view(), du.view(), dp.view());
        };
      }));
  // Packed qkv of h columns: half of them q's, a quarter each k's and v's.
  const std::int64_t d = 32, heads = h / 2 / d, groups = h / 4 / d, normed = t * (heads + groups);
  const AttentionShape shape{
      .batch = 1, .seq = t, .heads = heads, .kv_groups = groups, .head_dim = d};
  points.push_back(point(set, KernelClass::head_norm, "head_norm", t, h, {2 * n + 2 * d, normed},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer x(bench, t, h, seed), wq(bench, 1, d, seed + 1),
                               wk(bench, 1, d, seed + 2), y(bench, t, h, seed + 3),
                               rstd(bench, t, heads + groups, seed + 4, DType::fp32);
                           return [=, &bench] {
                             bench.kernels().head_norm(x.view(), wq.view(), wk.view(), y.view(),
                                                       rstd.view(), shape, 1e-6);
                           };
                         }));
  points.push_back(point(
      set, KernelClass::head_norm, "head_norm_bwd", t, h, {3 * n + 2 * d, 4 * d + normed},
      [=](Bench& bench, unsigned seed) {
        const Buffer dy(bench, t, h, seed), x(bench, t, h, seed + 1), wq(bench, 1, d, seed + 2),
            wk(bench, 1, d, seed + 3), rstd(bench, t, heads + groups, seed + 4, DType::fp32);
        const Buffer dx(bench, t, h, seed + 5), dwq(bench, 1, d, seed + 6, DType::fp32),
            dwk(bench, 1, d, seed + 7, DType::fp32);
        return [=, &bench] {
          bench.kernels().head_norm_bwd(dy.view(), x.view(), wq.view(), wk.view(), rstd.view(),
                                        dx.view(), dwq.view(), dwk.view(), shape);
        };
      }));
}

// Rotates q's and k's heads of 32 in packed qkv of h columns: three quarters of them.
void append_cpu_rope(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  const std::int64_t d = 32, heads = 3 * (h / 4) / d;
  points.push_back(point(PointSet::cpu, KernelClass::rope, "rope", t, h, {2 * t * heads * d},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer x(bench, t, h, seed);
                           const RopeShape rotated{
                               .seq = t / 8, .heads = heads, .stride = d, .dim = d};
                           return [=, &bench] { bench.kernels().rope(x.view(), rotated, false); };
                         }));
}

// What a GPU's step does to all weights and gradients; a CPU's is state_points().
void append_state(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  points.push_back(point(PointSet::gpu, KernelClass::sweep, "sum_of_squares", t, h, {0, n},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer g(bench, t, h, seed, DType::fp32);
                           return [=, &bench] { (void)bench.kernels().sum_of_squares(g.view()); };
                         }));
  points.push_back(
      point(PointSet::gpu, KernelClass::sweep, "zero", t, h, {n}, [=](Bench& bench, unsigned seed) {
        const Buffer x(bench, t, h, seed);
        return [=, &bench] { bench.kernels().zero(x.view()); };
      }));
  points.push_back(point(
      PointSet::gpu, KernelClass::optimizer, "adamw", t, h, {0, 7 * n},
      [=](Bench& bench, unsigned seed) {
        const Buffer g(bench, t, h, seed, DType::fp32), m(bench, t, h, seed + 1, DType::fp32);
        const Buffer w(bench, t, h, seed + 3, DType::fp32), v(bench, t, h, seed + 2, DType::fp32);
        bench.kernels().zero(v.view());  // the second moment is not negative
        return [=, &bench] {
          bench.kernels().adamw(g.view(), m.view(), v.view(), w.view(), 1.0, AdamW{});
        };
      }));
}

void append_copy(PointSet set, std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  points.push_back(point(set, KernelClass::memory_bound, "copy", t, h, {2 * n},
                         [=](Bench& bench, unsigned seed) {
                           const Buffer x(bench, t, h, seed), y(bench, t, h, seed + 1);
                           return [=, &bench] { bench.kernels().copy(x.view(), y.view()); };
                         }));
}

// Rows that tokens pick, and their gradients in fp32.
void append_embedding(PointSet set, std::vector<KernelPoint>& points, std::int64_t t,
                      std::int64_t h, std::int64_t vocabulary) {
  const std::int64_t n = t * h;
  const auto tokens = [=] {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(t));
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7919 % vocabulary);
    return ids;
  };
  points.push_back(point(
      set, KernelClass::embedding, "embedding", t, h, {2 * n, t}, [=](Bench& bench, unsigned seed) {
        const Buffer w(bench, vocabulary, h, seed), x(bench, t, h, seed + 1);
        const IndexBuffer ids(bench, tokens());
        return [=, &bench] { bench.kernels().embedding(ids.view(), w.view(), 0, x.view()); };
      }));
  points.push_back(point(
      set, KernelClass::embedding, "embedding_bwd", t, h, {n, 2 * n + t},
      [=](Bench& bench, unsigned seed) {
        const Buffer dx(bench, t, h, seed), dw(bench, vocabulary, h, seed + 1, DType::fp32);
        const IndexBuffer ids(bench, tokens());
        return [=, &bench] { bench.kernels().embedding_bwd(dx.view(), ids.view(), 0, dw.view()); };
      }));
}

// What only the larger steps of a GPU are made of.
void append_gpu(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  constexpr PointSet set = PointSet::gpu;
  const std::int64_t n = t * h;
  points.push_back(
      point(set, KernelClass::rope, "rope", t, h, {2 * n}, [=](Bench& bench, unsigned seed) {
        const Buffer x(bench, t, h, seed);
        const RopeShape s{
            .seq = std::min<std::int64_t>(t, 4096), .heads = h / 128, .stride = 128, .dim = 128};
        return [=, &bench] { bench.kernels().rope(x.view(), s, false); };
      }));
  points.push_back(
      point(set, KernelClass::memory_bound, "cast", t, h, {n, n}, [=](Bench& bench, unsigned seed) {
        const Buffer x(bench, t, h, seed, DType::fp32), y(bench, t, h, seed + 1);
        return [=, &bench] { bench.kernels().copy(x.view(), y.view()); };
      }));
  points.push_back(point(
      set, KernelClass::norm, "rms_norm_bwd_add", t, h, {4 * n + h, 2 * h + t},
      [=](Bench& bench, unsigned seed) {
        const Buffer dy(bench, t, h, seed), x(bench, t, h, seed + 1), w(bench, 1, h, seed + 2);
        const Buffer rstd(bench, t, 1, seed + 3, DType::fp32), more(bench, t, h, seed + 4);
        const Buffer dx(bench, t, h, seed + 5), dw(bench, 1, h, seed + 6, DType::fp32);
        return [=, &bench] {
          bench.kernels().rms_norm_bwd(dy.view(), x.view(), w.view(), rstd.view(), more.view(),
                                       dx.view(), dw.view());
        };
      }));
}

}  // namespace

std::vector<KernelPoint> memory_bound_points(PointSet set) {
  std::vector<KernelPoint> points;
  if (set == PointSet::gpu) {  // from 64 KB to 1 GB a tensor of bf16
    const auto append_all = [&](std::int64_t rows, std::int64_t cols) {
      append(set, points, rows, cols);
      append_state(points, rows, cols);
      append_copy(set, points, rows, cols);
    };
    for (std::int64_t rows : {8, 64, 512, 4096, 16384, 32768, 131072}) append_all(rows, 4096);
    for (std::int64_t rows : {2048, 8192, 32768}) append_all(rows, 7168);
    for (std::int64_t rows : {64, 512, 4096, 8192, 32768, 131072}) {
      append_gpu(points, rows, 4096);
      append_embedding(set, points, rows, 4096, 65536);
    }
    return points;
  }
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{32, 128}, {256, 128}, {256, 512}, {2048, 512}}) {
    append(set, points, rows, cols);
    append_cpu(points, rows, cols);
    append_cpu_rope(points, rows, cols);
    append_embedding(set, points, rows, cols, 512);
    append_copy(set, points, rows, cols);
  }
  append_cpu_rope(points, 512, 256);  // of six sizes two can be held out
  append_cpu_rope(points, 1024, 512);
  return points;
}

}  // namespace pleat
