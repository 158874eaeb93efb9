// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What narrow types add. On a GPU: quantising by tensor and by blocks, dense and grouped products
// in fp8. On a CPU: conversions that kernels in fp32 make of narrower operands, the making of
// codes.
#include <fmt/format.h>

#include "calibration/microbench/narrow_buffer.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr Quantization kSquares{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 128};

void append_quantize(std::vector<KernelPoint>& points, const char* label, const Quantization& q,
                     std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  // One scale a tensor: a pass that finds it reads the operand before (docs/MODEL.md section 7.4).
  const int reads = q.block_rows == 0 ? 2 : 1;
  points.push_back({.name = fmt::format("quantize {} {}x{}", label, t, h),
                    .kernel = KernelClass::quantize,
                    .flops = 0,
                    .bytes = reads * point_bytes(PointSet::gpu, n) + static_cast<double>(n),
                    .math = DType::fp8,
                    .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
                      const Buffer x(bench, t, h, seed);
                      const NarrowBuffer y(bench, x, {}, q);
                      return [=, &bench] { bench.kernels().quantize(x.view(), {}, y.view(), q); };
                    }});
}

// Both copies of an operand as training makes them, in blocks within rows and within columns: of x,
// or of what SwiGLU makes of it on the way, which is written nowhere (docs/MODEL.md section 7.4).
void append_copies(std::vector<KernelPoint>& points, const Quantization& rows, bool swiglu,
                   std::int64_t t, std::int64_t h) {
  Quantization columns = rows;
  std::swap(columns.block_rows, columns.block_cols);
  const std::int64_t n = t * h, in = swiglu ? 2 * h : h;
  points.push_back({.name =
                        fmt::format("{} copies of {} {}x{}",
                                    swiglu ? "swiglu_quantize" : "quantize", rows.block_cols, t, h),
                    .kernel = KernelClass::quantize,
                    .flops = 0,
                    .bytes = point_bytes(PointSet::gpu, t * in) + 2 * static_cast<double>(n),
                    .math = DType::fp8,
                    .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
                      const Buffer u(bench, t, in, seed), x(bench, t, h, seed + 1);
                      const NarrowBuffer by_rows(bench, x, {}, rows),
                          by_columns(bench, x, {}, columns);
                      View made = x.view();
                      made.data = nullptr;
                      return [=, &bench] {
                        const QuantizedCopy both[] = {{by_rows.view(), rows},
                                                      {by_columns.view(), columns}};
                        if (swiglu) {
                          bench.kernels().swiglu_quantize(u.view(), {}, {}, made, false, both);
                        } else {
                          bench.kernels().quantize_copies(u.view(), {}, both);
                        }
                      };
                    }});
}

KernelPoint product(const char* label, GemmMath math, const Quantization& left,
                    const Quantization& right, std::int64_t t, std::int64_t out, std::int64_t in) {
  return {.name = fmt::format("gemm fp8 {} {}x{}x{}", label, t, out, in),
          .kernel = KernelClass::gemm,
          .flops = 2 * static_cast<double>(t) * static_cast<double>(out) * static_cast<double>(in),
          .bytes = point_bytes(PointSet::gpu, t * out) + static_cast<double>((t + out) * in),
          .math = DType::fp8,
          .prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
            const Buffer x(bench, t, in, seed), w(bench, out, in, seed + 1),
                y(bench, t, out, seed + 2);
            const NarrowBuffer a(bench, x, {}, left), b(bench, w, {}, right);
            return [=, &bench] {
              bench.kernels().gemm(a.view(), false, b.view(), true, y.view(), false);
            };
          },
          .shape = ProductShape{.m = static_cast<double>(t),
                                .n = static_cast<double>(out),
                                .k = static_cast<double>(in),
                                .math = math}};
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
        const NarrowBuffer a(bench, x, counts.view(), kTensorCodes),
            b(bench, w, each_weight.view(), kTensorCodes);
        return [=, &bench] {
          bench.kernels().grouped_gemm(a.view(), b.view(), true, counts.view(), y.view());
        };
      },
      .shape = ProductShape{.m = static_cast<double>(rows),
                            .n = static_cast<double>(out),
                            .k = static_cast<double>(in),
                            .groups = static_cast<double>(experts),
                            .math = GemmMath::fp8}};
}

std::vector<KernelPoint> gpu_narrow_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t rows : {64, 1024, 8192, 65536}) {
    append_quantize(points, "tensor", kTensorCodes, rows, 4096);
    append_quantize(points, "(1x128)", kRowCodes, rows, 4096);
    append_quantize(points, "(128x128)", kSquares, rows, 4096);
    append_quantize(points, "(1x32)", kMicroCodes, rows, 4096);
    for (const Quantization& q : {kRowCodes, kMicroCodes}) {
      for (const bool swiglu : {false, true}) append_copies(points, q, swiglu, rows, 4096);
    }
  }
  for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{4096, 4096},
                                {28672, 4096},
                                {4096, 14336},
                                {7168, 16384},
                                {24576, 1536}}) {
    for (std::int64_t tokens = 512; tokens <= 32768; tokens *= 4) {
      points.push_back(
          product("tensor", GemmMath::fp8, kTensorCodes, kTensorCodes, tokens, out, in));
      points.push_back(
          product("blocks", GemmMath::fp8_block, kRowCodes, kSquares, tokens, out, in));
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

// Bytes are those of the simulator's conversions: two and four an element, or one and four.
KernelPoint converted(KernelClass kernel, const std::string& label, std::int64_t rows,
                      std::int64_t cols, std::int64_t bytes_each, Bench::Prepare prepare) {
  return {.name = fmt::format("{} {}x{}", label, rows, cols),
          .kernel = kernel,
          .flops = 0,
          .bytes = static_cast<double>(bytes_each * rows * cols),
          .prepare = std::move(prepare)};
}

KernelPoint cast(DType from, DType to, std::int64_t t, std::int64_t h) {
  return converted(KernelClass::convert, fmt::format("{} to {}", name_of(from), name_of(to)), t, h,
                   6, [=](Bench& bench, unsigned seed) -> std::function<void()> {
                     const Buffer x(bench, t, h, seed, from), y(bench, t, h, seed + 1, to);
                     return [=, &bench] { bench.kernels().copy(x.view(), y.view()); };
                   });
}

struct NarrowRecipe {
  const char* name;
  DType type;
  Quantization how;
};

std::vector<NarrowRecipe> recipes() {
  return {
      {"fp8", DType::fp8, kTensorCodes},
      {"fp8 in blocks", DType::fp8, kRowCodes},
      {"mxfp8", DType::mxfp8, kMicroCodes},
      {"nvfp4",
       DType::nvfp4,
       {.format = SmallFloat::e2m1, .rule = ScaleRule::nvfp4, .block_rows = 1, .block_cols = 16}}};
}

void append_codes(std::vector<KernelPoint>& points, const NarrowRecipe& r, std::int64_t t,
                  std::int64_t h) {
  points.push_back(converted(KernelClass::quantize, fmt::format("{} codes of", r.name), t, h, 5,
                             [=](Bench& bench, unsigned seed) -> std::function<void()> {
                               const Buffer x(bench, t, h, seed);
                               const NarrowBuffer y(bench, x, {}, r.how, r.type);
                               return [=, &bench] {
                                 bench.kernels().quantize(x.view(), {}, y.view(), r.how);
                               };
                             }));
  // A product of one row: next to nothing but its second operand in fp32.
  points.push_back(converted(
      KernelClass::dequantize, fmt::format("{} codes read of", r.name), t, h, 5,
      [=](Bench& bench, unsigned seed) -> std::function<void()> {
        const Buffer x(bench, t, h, seed), one(bench, 1, h, seed + 1), y(bench, 1, t, seed + 2);
        const NarrowBuffer codes(bench, x, {}, r.how, r.type);
        return [=, &bench] {
          bench.kernels().gemm(one.view(), false, codes.view(), true, y.view(), false);
        };
      }));
}

std::vector<KernelPoint> cpu_points() {
  std::vector<KernelPoint> points;
  for (const auto& [t, h] : {std::pair<std::int64_t, std::int64_t>{64, 128},
                             {256, 128},
                             {256, 512},
                             {2048, 512},
                             {8192, 512}}) {
    points.push_back(cast(DType::bf16, DType::fp32, t, h));
    points.push_back(cast(DType::fp32, DType::bf16, t, h));
  }
  for (const auto& [t, h] : {std::pair<std::int64_t, std::int64_t>{256, 128}, {1024, 512}}) {
    for (const NarrowRecipe& r : recipes()) append_codes(points, r, t, h);
  }
  return points;
}

}  // namespace

std::vector<KernelPoint> narrow_points(PointSet set) {
  return set == PointSet::gpu ? gpu_narrow_points() : cpu_points();
}

}  // namespace pleat
