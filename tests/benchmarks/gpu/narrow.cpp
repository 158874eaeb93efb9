// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products of fp8 codes: dense ones against cuBLASLt's best candidate on the same codes laid out
// for it, so that transposes are in our time alone; grouped ones against a dense one of the same
// FLOPs.
#include <fmt/core.h>

#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/narrow_products.hpp"
#include "kernels/cuda/resources.hpp"
#include "tests/benchmarks/gpu/codes.hpp"

namespace pleat::bench {
namespace {

// y = x w^T, dx = dy w and dw += dy^T x, with what a recipe makes of both operands.
struct Form {
  const char* name;
  bool ta, tb;
  Quantization a, b;
};

void dense(Bench& b, const Form& form, const std::string& shape, std::int64_t m, std::int64_t n,
           std::int64_t k) {
  cuda::Resources resources(b.device(), std::size_t{64} << 20U);
  cuda::DenseGemm library(resources, false);
  Codes codes(b);
  const View x = form.ta ? codes.of(k, m, form.a) : codes.of(m, k, form.a);
  const View w = form.tb ? codes.of(n, k, form.b) : codes.of(k, n, form.b);
  const View c = b.random(form.ta ? DType::fp32 : DType::bf16, m, n);
  const int on = cuda::capability(resources);
  const auto kind_x = cuda::narrow_kind(x, !form.ta, on),
             kind_w = cuda::narrow_kind(w, form.tb, on);
  if (kind_x.scales == cuda::NarrowScales::none || kind_w.scales == cuda::NarrowScales::none) {
    return b.missing(form.name, shape, "this GPU has no such product");
  }
  const std::size_t bytes =
      cuda::narrow_bytes(x, !form.ta, kind_x) + cuda::narrow_bytes(w, form.tb, kind_w);
  cuda::Scratch copies(resources.copies(bytes), bytes);
  const auto first = cuda::narrow_operand(resources, x, !form.ta, kind_x, copies);
  const auto second = cuda::narrow_operand(resources, w, form.tb, kind_w, copies);
  cuda::DenseProblem p{.m = m,
                       .n = n,
                       .k = k,
                       .transpose_b = true,
                       .accumulate = form.ta,
                       .inputs = DType::fp8,
                       .output = c.dtype,
                       .device = b.device().index()};
  // As the product has it.
  p.fast_accumulation = cuda::adds_up_fast(
      {.transpose_a = form.ta, .transpose_b = form.tb, .accumulate = form.ta}, kind_x, kind_w);
  const auto seconds = library.time_candidates(p, first, second, c.data, 20, [&] { b.flush_l2(); });
  if (seconds.empty()) return b.missing(form.name, shape, "cuBLASLt has no kernel");
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  b.compute_bound(form.name, shape, flops, seconds.front(),
                  "best candidate of cuBLASLt on codes as it reads them",
                  [&] { b.kernels().gemm(x, form.ta, w, form.tb, c, form.ta); });
}

// [m,k] times [n,k]^T, and its two gradients' products.
void all_forms(Bench& b, const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (const Form& form :
       {Form{"gemm fp8", false, true, kTensor, kTensor},
        Form{"gemm fp8 dgrad", false, false, kGradient, kTensor},
        Form{"gemm fp8 wgrad", true, false, kGradient, kTensor},
        Form{"gemm fp8 blocks", false, true, kRows, kSquares},
        Form{"gemm fp8 blocks dgrad", false, false, kRows, kSquares},
        Form{"gemm fp8 blocks wgrad", true, false, kColumns, kColumns},
        Form{"gemm mxfp8", false, true, kMicroRows, kMicroRows},
        Form{"gemm mxfp8 dgrad", false, false, kMicroRows, kMicroColumns},
        Form{"gemm mxfp8 wgrad", true, false, kMicroColumns, kMicroColumns}}) {
    const auto [rows, cols, depth] = form.ta   ? std::tuple{n, k, m}
                                     : form.tb ? std::tuple{m, n, k}
                                               : std::tuple{m, k, n};
    const std::string shape = fmt::format("{} {}x{}x{}", name, rows, cols, depth);
    b.attempt(form.name, shape,
              [&, r = rows, c = cols, d = depth] { dense(b, form, shape, r, c, d); });
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
  const std::string shape =
      fmt::format("{} {} experts x {} rows, {}x{}", name, experts, each, n, k);
  for (const Kind& kind :
       {Kind{"grouped fp8", kTensor, kTensor, kGradient, kGradient, kTensor},
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
  }
}

}  // namespace

void narrow_products(Bench& b) {
  all_forms(b, "square", 8192, 8192, 8192);
  all_forms(b, "Mixtral qkv", 8192, 6144, 4096);
  all_forms(b, "Mixtral out", 8192, 4096, 4096);
  all_forms(b, "DeepSeek-V3 q_b", 8192, 24576, 1536);
  all_forms(b, "DeepSeek-V3 out", 8192, 7168, 16384);
  const auto experts = [&](const char* name, std::int64_t count, std::int64_t each, std::int64_t n,
                           std::int64_t k) {
    b.attempt("grouped fp8", name, [&] { grouped(b, name, count, each, n, k); });
  };
  experts("Mixtral-8x7B up", 8, 2048, 28672, 4096);
  experts("Qwen3-235B up", 16, 1024, 3072, 4096);
  experts("DeepSeek-V3 up", 32, 512, 4096, 7168);
}

}  // namespace pleat::bench
