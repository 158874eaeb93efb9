// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// fp8: quantising, by itself and with norms and SwiGLU, against the copy bandwidth, dense products against cuBLASLt's best candidate on
// the same codes, grouped ones against a dense one of the same FLOPs.
#include <fmt/core.h>

#include <deque>

#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/narrow_products.hpp"
#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {
namespace {

constexpr Quantization kTensor{}, kGradient{.format = SmallFloat::e5m2};
constexpr Quantization kRows{.rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128};
constexpr Quantization kColumns{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 1};
constexpr Quantization kSquares{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 128};
constexpr Quantization kMicroRows{.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};
constexpr Quantization kMicroColumns{.rule = ScaleRule::e8m0, .block_rows = 32, .block_cols = 1};

// Codes of random normals; scales live as long as this.
class Codes {
 public:
  explicit Codes(Bench& b) : b_(b) {}
  View of(std::int64_t rows, std::int64_t cols, const Quantization& q, View counts = {}) {
    const View x = b_.random(DType::bf16, rows, cols);
    View y = b_.random(DType::bf16, rows, cols / 2);  // memory for the codes
    y = {y.data, DType::fp8, rows, cols, &scales_.emplace_back()};
    b_.kernels().quantize(x, counts, y, q);
    return y;
  }

 private:
  Bench& b_;
  std::deque<BlockScales> scales_;
};

void quantise(Bench& b, std::int64_t rows, std::int64_t cols) {
  const struct {
    const char* name;
    Quantization q;
  } kinds[] = {{"tensor", kTensor},   {"1x128", kRows},     {"128x1", kColumns},
               {"128x128", kSquares}, {"1x32", kMicroRows}, {"32x1", kMicroColumns}};
  for (const auto& kind : kinds) {
    Codes codes(b);
    const View x = b.random(DType::bf16, rows, cols), y = codes.of(rows, cols, kind.q);
    b.memory_bound(fmt::format("quantize {}", kind.name), fmt::format("{}x{} bf16", rows, cols),
                   3 * static_cast<double>(rows * cols), "2B*x+1B*y",
                   [&] { b.kernels().quantize(x, {}, y, kind.q); });
    b.release_all();
  }
}

// Both copies that a product's operand needs, by themselves and with what makes the numbers.
void fused(Bench& b, std::int64_t rows, std::int64_t cols) {
  struct Kind {
    const char* name;
    Quantization row, column;
  };
  for (const Kind& kind : {Kind{"1x128 and 128x1", kRows, kColumns},
                           Kind{"1x32 and 32x1", kMicroRows, kMicroColumns},
                           Kind{"tensor twice", kTensor, kTensor}}) {
    Codes codes(b);
    const View x = b.random(DType::bf16, rows, cols), more = b.random(DType::bf16, rows, cols);
    const View y = b.random(DType::bf16, rows, cols), u = b.random(DType::bf16, rows, 2 * cols);
    const View sum = b.random(DType::bf16, rows, cols), w = b.random(DType::bf16, 1, cols);
    const View rstd = b.random(DType::fp32, 1, rows), p = b.random(DType::fp32, 1, rows);
    const QuantizedCopy copies[] = {{codes.of(rows, cols, kind.row), kind.row},
                                    {codes.of(rows, cols, kind.column), kind.column}};
    const std::string shape = fmt::format("{}x{} bf16, {}", rows, cols, kind.name);
    const auto n = static_cast<double>(rows * cols);
    b.memory_bound("quantize both", shape, 4 * n, "2B*x+1B*2y",
                   [&] { b.kernels().quantize_copies(x, {}, copies); });
    b.memory_bound("rms_norm+quantize", shape, 6 * n, "2B*2x+1B*2y", [&] {
      b.kernels().rms_norm_quantize(x, {}, {}, w, y, false, rstd, 1e-5, copies);
    });
    b.memory_bound("rms_norm+residual+quantize", shape, 10 * n, "2B*(x+residual+2 sum)+1B*2y", [&] {
      b.kernels().rms_norm_quantize(x, more, sum, w, y, false, rstd, 1e-5, copies);
    });
    b.memory_bound("swiglu+quantize", shape, 6 * n, "2B*2u+1B*2y",
                   [&] { b.kernels().swiglu_quantize(u, p, {}, y, false, copies); });
    b.release_all();
  }
}

void dense(Bench& b, const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
  cuda::Resources resources(b.device(), std::size_t{64} << 20U);
  cuda::DenseGemm library(resources, false);
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  for (const auto& [label, left, right] : {std::tuple{"gemm fp8", kTensor, kTensor},
                                           std::tuple{"gemm fp8 gradient", kGradient, kTensor},
                                           std::tuple{"gemm fp8 blocks", kRows, kSquares},
                                           std::tuple{"gemm mxfp8", kMicroRows, kMicroRows}}) {
    Codes codes(b);
    const View x = codes.of(m, k, left), w = codes.of(n, k, right), c = b.random(DType::bf16, m, n);
    const auto kind_x = cuda::narrow_kind(x, true, cuda::capability(resources));
    const auto kind_w = cuda::narrow_kind(w, true, cuda::capability(resources));
    if (kind_x.scales == cuda::NarrowScales::none || kind_w.scales == cuda::NarrowScales::none) {
      b.release_all();
      continue;  // this GPU has no such product
    }
    const std::size_t bytes =
        cuda::narrow_bytes(x, true, kind_x) + cuda::narrow_bytes(w, true, kind_w);
    cuda::Scratch copies(resources.copies(bytes), bytes);
    const auto first = cuda::narrow_operand(resources, x, true, kind_x, copies);
    const auto second = cuda::narrow_operand(resources, w, true, kind_w, copies);
    cuda::DenseProblem p{.m = m,
                               .n = n,
                               .k = k,
                               .transpose_b = true,
                               .inputs = DType::fp8,
                               .device = b.device().index()};
    p.fast_accumulation = cuda::adds_up_fast(p, kind_x, kind_w);  // as the product has it
    const auto seconds = library.time_candidates(p, first, second, c.data, 20);
    if (seconds.empty()) {
      fmt::print(
          "{{\"kernel\": \"{}\", \"shape\": \"{}\", \"missing\": \"cuBLASLt has no kernel\"}}\n",
          label, name);
    } else {
      b.compute_bound(label, fmt::format("{} {}x{}x{}", name, m, n, k), flops, seconds.front(),
                      "best candidate of cuBLASLt on the same codes, warm L2",
                      [&] { b.kernels().gemm(x, false, w, true, c, false); });
    }
    b.release_all();
  }
}

// Experts' products on codes against a dense one of the same recipe and FLOPs.
void grouped(Bench& b, const char* name, std::int64_t experts, std::int64_t each, std::int64_t n,
             std::int64_t k) {
  struct Kind {
    const char* name;
    Quantization x, x_column, d, d_column, w;
  };
  const std::int64_t rows = experts * each;
  const auto count = static_cast<std::size_t>(experts);
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k);
  const std::string shape = fmt::format("{} {} experts x {} rows, {}x{}", name, experts, each, n, k);
  for (const Kind& kind : {Kind{"grouped fp8", kTensor, kTensor, kGradient, kGradient, kTensor},
                           Kind{"grouped fp8 blocks", kRows, kColumns, kRows, kColumns, kSquares}}) {
    Codes codes(b);
    const View counts = b.i32(std::vector<std::int32_t>(count, static_cast<std::int32_t>(each)));
    const View weights = b.i32(std::vector<std::int32_t>(count, static_cast<std::int32_t>(n)));
    const View x = codes.of(rows, k, kind.x, counts), w = codes.of(experts * n, k, kind.w, weights);
    const View d = codes.of(rows, n, kind.d, counts), y = b.random(DType::bf16, rows, n);
    const View xc = codes.of(rows, k, kind.x_column, counts);
    const View dc = codes.of(rows, n, kind.d_column, counts);
    const View dx = b.random(DType::bf16, rows, k), dw = b.random(DType::fp32, experts * n, k);
    const View all = codes.of(rows, k, kind.x), one = codes.of(n, k, kind.w);
    const double dense =
        b.median_seconds([&] { b.kernels().gemm(all, false, one, true, y, false); });
    const std::string reference = "one dense product of the same recipe, forward";
    const auto time = [&](const char* which, const std::function<void()>& work) {
      b.compute_bound(fmt::format("{} {}", kind.name, which), shape, flops, dense, reference, work);
    };
    time("forward", [&] { b.kernels().grouped_gemm(x, w, true, counts, y); });
    time("dgrad", [&] { b.kernels().grouped_gemm(d, w, false, counts, dx); });
    time("wgrad", [&] { b.kernels().grouped_wgrad(dc, xc, counts, dw, true); });
    b.release_all();
  }
}

}  // namespace

void narrow_kernels(Bench& b) {
  if (!b.wanted("fp8") && !b.wanted("quantize")) return;
  quantise(b, 65536, 4096);
  quantise(b, 32768, 7168);
  fused(b, 65536, 4096);
  fused(b, 32768, 7168);
  dense(b, "square", 8192, 8192, 8192);
  dense(b, "Mixtral qkv", 8192, 6144, 4096);
  dense(b, "Mixtral out", 8192, 4096, 4096);
  dense(b, "DeepSeek-V3 q_b", 8192, 24576, 1536);
  dense(b, "DeepSeek-V3 out", 8192, 7168, 16384);
  grouped(b, "Mixtral-8x7B up", 8, 2048, 28672, 4096);
  grouped(b, "Qwen3-235B up", 16, 1024, 3072, 4096);
  grouped(b, "DeepSeek-V3 up", 32, 512, 4096, 7168);
}

}  // namespace pleat::bench
