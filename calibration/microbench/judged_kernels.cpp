// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of a GPU that no constant is fitted to: quantisation of columns alone, norms that
// quantise, products that transpose codes first, the router's statistics and losses. What the
// curves and laws of the plain ones make of them is judged.
#include <fmt/format.h>

#include <utility>

#include "calibration/microbench/narrow_buffer.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kColumns = 4096;

Quantization by_columns(Quantization q) {
  std::swap(q.block_rows, q.block_cols);
  return q;
}

KernelPoint judged(std::string name, KernelClass kernel, const char* as, double bytes,
                   Bench::Prepare prepare) {
  return {.name = std::move(name),
          .kernel = kernel,
          .flops = 0,
          .bytes = bytes,
          .math = kernel == KernelClass::quantize ? DType::fp8 : DType::bf16,
          .prepare = std::move(prepare),
          .share = kJudgedShare,
          .judged = as};
}

// What wgrad's operands need where the row copy is there already.
KernelPoint columns_alone(const Quantization& rows, std::int64_t t) {
  const Quantization q = by_columns(rows);
  return judged(fmt::format("quantize columns of {} {}x{}", q.block_rows, t, kColumns),
                KernelClass::quantize, "columns", 3.0 * static_cast<double>(t * kColumns),
                [=](Bench& bench, unsigned seed) -> std::function<void()> {
                  const Buffer x(bench, t, kColumns, seed);
                  const NarrowBuffer y(bench, x, {}, q);
                  return [=, &bench] { bench.kernels().quantize(x.view(), {}, y.view(), q); };
                });
}

// Both copies of a norm, with a residual added before it or not (docs/MODEL.md section 7.4): the
// statistics by the curve of norms, the rest by that of quantisation.
KernelPoint norm_copies(const Quantization& rows, bool adds, std::int64_t t) {
  const auto n = static_cast<double>(t * kColumns), sums = 4.0 * static_cast<double>(t);
  KernelPoint p = judged(
      fmt::format("{} copies of {} {}x{}", adds ? "add_rms_norm_quantize" : "rms_norm_quantize",
                  rows.block_cols, t, kColumns),
      KernelClass::quantize, "with norms", 4 * n + 2.0 * kColumns + sums,
      [=](Bench& bench, unsigned seed) -> std::function<void()> {
        const Buffer x(bench, t, kColumns, seed), w(bench, 1, kColumns, seed + 1),
            rstd(bench, t, 1, seed + 2, DType::fp32);
        const Buffer residual = adds ? Buffer(bench, t, kColumns, seed + 3) : x,
                     sum = adds ? Buffer(bench, t, kColumns, seed + 4) : x;
        const Quantization columns = by_columns(rows);
        const NarrowBuffer first(bench, x, {}, rows), second(bench, x, {}, columns);
        return [=, &bench] {
          const QuantizedCopy both[] = {{first.view(), rows}, {second.view(), columns}};
          View made = x.view();
          made.data = nullptr;
          bench.kernels().rms_norm_quantize(x.view(), adds ? residual.view() : View{},
                                            adds ? sum.view() : View{}, w.view(), made, false,
                                            rstd.view(), 1e-6, both);
        };
      });
  p.norm_bytes = (adds ? 6 : 2) * n + sums;
  return p;
}

// y[t,in] = a[t,out] b[out,in]: b's codes have not K beside each other, and are transposed on the
// way.
KernelPoint transposing(std::int64_t t, std::int64_t out, std::int64_t in) {
  KernelPoint p = judged(
      fmt::format("gemm.dgrad fp8 tensor {}x{}x{}", t, in, out), KernelClass::gemm,
      "transposed codes", point_bytes(PointSet::gpu, t * in) + static_cast<double>((t + in) * out),
      [=](Bench& bench, unsigned seed) -> std::function<void()> {
        const Buffer x(bench, t, out, seed), w(bench, out, in, seed + 1), y(bench, t, in, seed + 2);
        const NarrowBuffer a(bench, x, {}, kTensorCodes), b(bench, w, {}, kTensorCodes);
        return [=, &bench] {
          bench.kernels().gemm(a.view(), false, b.view(), false, y.view(), false);
        };
      });
  p.flops = 2 * static_cast<double>(t * out) * static_cast<double>(in);
  p.math = DType::fp8;
  p.shape = ProductShape{.m = static_cast<double>(t),
                         .n = static_cast<double>(in),
                         .k = static_cast<double>(out),
                         .math = GemmMath::fp8,
                         .backward = true};
  return p;
}

// One sequence; F and P of every expert and Z, the losses of these, and their gradient.
void append_router(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t e) {
  constexpr std::int64_t k = 8;
  const RouterShape shape{.experts = e, .top_k = k};
  const RouterRows rows{.first = 0, .rows = t};
  const RouterLossFactors factors{.aux = 1e-3, .seq_aux = 1e-3, .z = 1e-3};
  const auto add = [&](const char* what, std::int64_t words, int which) {
    points.push_back(judged(
        fmt::format("{} {} tokens, {} of {}", what, t, k, e), KernelClass::router,
        "statistics and losses", 4.0 * static_cast<double>(words),
        [=](Bench& bench, unsigned seed) -> std::function<void()> {
          const Buffer logits(bench, t, e, seed, DType::fp32),
              probs(bench, t, k, seed + 1, DType::fp32),
              stats(bench, 1, 2 * e + 1, seed + 2, DType::fp32),
              values(bench, 1, 3, seed + 3, DType::fp32),
              dlogits(bench, t, e, seed + 4, DType::fp32);
          const IndexBuffer experts(bench,
                                    std::vector<std::int32_t>(static_cast<std::size_t>(t * k)), k);
          bench.kernels().router_topk(logits.view(), {}, probs.view(), experts.view(), shape);
          return [=, &bench] {
            if (which == 0) {
              bench.kernels().router_stats(logits.view(), experts.view(), stats.view(), shape,
                                           rows);
            } else if (which == 1) {
              bench.kernels().router_losses(stats.view(), factors, 1.0, values.view());
            } else {
              bench.kernels().router_losses_bwd(logits.view(), stats.view(), dlogits.view(), shape,
                                                rows, factors);
            }
          };
        }));
  };
  add("router_stats", t * e + t * k + 2 * e + 1, 0);
  if (t == 4096) add("router_losses", 2 * e + 1 + 3, 1);  // of no tokens
  add("router_losses_bwd", 2 * t * e + 2 * e + 1, 2);
}

}  // namespace

std::vector<KernelPoint> judged_kernel_points() {
  std::vector<KernelPoint> points;
  for (const std::int64_t t : {64, 8192, 65536}) {
    for (const Quantization& q : {kRowCodes, kMicroCodes}) {
      points.push_back(columns_alone(q, t));
      for (const bool adds : {false, true}) points.push_back(norm_copies(q, adds, t));
    }
  }
  for (const std::int64_t t : {512, 8192}) {
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{4096, 4096}, {28672, 4096}})
      points.push_back(transposing(t, out, in));
  }
  for (const std::int64_t t : {4096, 32768}) {
    for (const std::int64_t e : {128, 256}) append_router(points, t, e);
  }
  return points;
}

}  // namespace pleat
