// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What fp8 adds on a GPU: quantising by tensor and by blocks, dense and grouped products.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr Quantization kTensor{};
constexpr Quantization kRows{.rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128};
constexpr Quantization kSquares{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 128};
constexpr Quantization kMicro{.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};

// Codes with scales of their own.
struct Narrow {
  Buffer codes;
  std::shared_ptr<BlockScales> scales = std::make_shared<BlockScales>();
  Narrow(Bench& bench, const Buffer& x, View counts, const Quantization& q)
      : codes(bench, x.view().rows, x.view().cols, 0, DType::fp8) {
    bench.kernels().quantize(x.view(), counts, view(), q);
  }
  [[nodiscard]] View view() const {
    View v = codes.view();
    v.scales = scales.get();
    return v;
  }
};

void append_quantize(std::vector<KernelPoint>& points, const char* label, const Quantization& q,
                     std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  points.push_back({.name = fmt::format("quantize {} {}x{}", label, t, h),
                    .kernel = KernelClass::quantize,
                    .flops = 0,
                    .bytes = point_bytes(PointSet::gpu, n) + static_cast<double>(n),
                    .math = DType::fp8,
                    .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
                      const Buffer x(bench, t, h, seed);
                      const Narrow y(bench, x, {}, q);
                      return [=, &bench] { bench.kernels().quantize(x.view(), {}, y.view(), q); };
                    }});
}

KernelPoint product(const char* label, const Quantization& left, const Quantization& right,
                    std::int64_t t, std::int64_t out, std::int64_t in) {
  return {.name = fmt::format("gemm fp8 {} {}x{}x{}", label, t, out, in),
          .kernel = KernelClass::gemm,
          .flops = 2 * static_cast<double>(t) * static_cast<double>(out) * static_cast<double>(in),
          .bytes = point_bytes(PointSet::gpu, t * out) + static_cast<double>((t + out) * in),
          .math = DType::fp8,
          .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
            const Buffer x(bench, t, in, seed), w(bench, out, in, seed + 1),
                y(bench, t, out, seed + 2);
            const Narrow a(bench, x, {}, left), b(bench, w, {}, right);
            return [=, &bench] {
              bench.kernels().gemm(a.view(), false, b.view(), true, y.view(), false);
            };
          }};
}

KernelPoint grouped(std::int64_t each, std::int64_t experts, std::int64_t out, std::int64_t in) {
  const std::int64_t rows = each * experts;
  return {
      .name = fmt::format("grouped_gemm fp8 {}x{}x{} {} experts", rows, out, in, experts),
      .kernel = KernelClass::grouped_gemm,
      .flops = 2 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in),
      .bytes =
          point_bytes(PointSet::gpu, rows * out) + static_cast<double>((rows + experts * out) * in),
      .math = DType::fp8,
      .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
        const auto count = static_cast<std::size_t>(experts);
        const IndexBuffer counts(bench,
                                 std::vector<std::int32_t>(count, static_cast<std::int32_t>(each)));
        const IndexBuffer each_weight(
            bench, std::vector<std::int32_t>(count, static_cast<std::int32_t>(out)));
        const Buffer x(bench, rows, in, seed), w(bench, experts * out, in, seed + 1);
        const Buffer y(bench, rows, out, seed + 2);
        const Narrow a(bench, x, counts.view(), kTensor), b(bench, w, each_weight.view(), kTensor);
        return [=, &bench] {
          bench.kernels().grouped_gemm(a.view(), b.view(), true, counts.view(), y.view());
        };
      }};
}

}  // namespace

std::vector<KernelPoint> narrow_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t rows : {64, 1024, 8192, 65536}) {
    append_quantize(points, "tensor", kTensor, rows, 4096);
    append_quantize(points, "1x128", kRows, rows, 4096);
    append_quantize(points, "128x128", kSquares, rows, 4096);
    append_quantize(points, "1x32", kMicro, rows, 4096);
  }
  for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{4096, 4096},
                                {28672, 4096},
                                {4096, 14336},
                                {7168, 16384},
                                {24576, 1536}}) {
    for (std::int64_t tokens = 512; tokens <= 32768; tokens *= 4) {
      points.push_back(product("tensor", kTensor, kTensor, tokens, out, in));
      points.push_back(product("blocks", kRows, kSquares, tokens, out, in));
    }
  }
  for (const auto& [out, in] :
       {std::pair<std::int64_t, std::int64_t>{28672, 4096}, {3072, 4096}, {4096, 7168}}) {
    for (std::int64_t experts : {1, 8, 32}) {
      for (std::int64_t each : {128, 512, 2048}) points.push_back(grouped(each, experts, out, in));
    }
  }
  return points;
}

}  // namespace pleat
