// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense products against cuBLASLt's best candidate, grouped ones against a dense one of the same
// FLOPs.
#include <fmt/core.h>

#include "kernels/cuda/dense_gemm.hpp"
#include "tests/benchmarks/gpu/bench.hpp"
#include "tests/benchmarks/gpu/expert_shapes.hpp"

namespace pleat::bench {
namespace {

// 0: none runs. As compute_bound() times: with the same beta, the L2 flushed before each run.
double best_dense(Bench& b, cuda::Resources& r, const cuda::DenseProblem& p, View x, View y,
                  View c) {
  cuda::DenseGemm dense(r, false);
  const auto seconds = dense.time_candidates(p, x.data, y.data, c.data, 20, [&] { b.flush_l2(); });
  return seconds.empty() ? 0 : seconds.front();
}

void dense(Bench& b, const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
  cuda::Resources resources(b.device(), std::size_t{64} << 20U);
  struct Kind {
    const char* name;
    bool ta, tb;
    DType output;
    bool accumulate;
  };
  for (const Kind& kind : {Kind{"gemm", false, true, DType::bf16, false},
                           {"gemm dgrad", false, false, DType::bf16, false},
                           {"gemm wgrad", true, false, DType::fp32, true}}) {
    const View x = kind.ta ? b.random(DType::bf16, k, m) : b.random(DType::bf16, m, k);
    const View y = kind.tb ? b.random(DType::bf16, n, k) : b.random(DType::bf16, k, n);
    const View c = b.random(kind.output, m, n);
    const double best = best_dense(b, resources,
                                   {.m = m, .n = n, .k = k, .transpose_a = kind.ta,
                                    .transpose_b = kind.tb, .accumulate = kind.accumulate,
                                    .inputs = DType::bf16, .output = kind.output},
                                   x, y, c);
    b.compute_bound(kind.name, fmt::format("{} {}x{}x{}", name, m, n, k),
                    2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                    best, "best candidate of cuBLASLt",
                    [&] { b.kernels().gemm(x, kind.ta, y, kind.tb, c, kind.accumulate); });
    b.release_all();
  }
}

void grouped(Bench& b, const Model& m, std::int64_t n, std::int64_t k, const char* which) {
  const std::int64_t rows = m.experts * m.tokens_an_expert;
  const View x = b.random(DType::bf16, rows, k), w = b.random(DType::bf16, m.experts * n, k);
  const View y = b.random(DType::bf16, rows, n), dw = b.random(DType::fp32, m.experts * n, k);
  const View one{w.data, DType::bf16, n, k}, dw_one{dw.data, DType::fp32, n, k};
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k);
  const double forward = b.median_seconds([&] { b.kernels().gemm(x, false, one, true, y, false); });
  const double dgrad = b.median_seconds([&] { b.kernels().gemm(y, false, one, false, x, false); });
  const double wgrad = b.median_seconds([&] { b.kernels().gemm(y, true, x, false, dw_one, true); });
  // Each operand once: rows of both sides and the weights in bf16; gradients in fp32, read and
  // written.
  const auto bytes = [&](std::int64_t of_weight) {
    return 2.0 * static_cast<double>(rows * (n + k)) +
           static_cast<double>(of_weight * m.experts * n * k);
  };
  const auto cutlass = cuda_kernels(b.device(), {.library_groups = false});
  for (const Counts kind : {Counts::even, Counts::uneven, Counts::routed}) {
    const View counts = b.i32(counts_of(m, kind));
    const std::string shape = fmt::format("{} {} {} experts x {} rows{}, {}x{}", m.name, which,
                                          m.experts, m.tokens_an_expert,
                                          kCountsWords[static_cast<std::size_t>(kind)], n, k);
    b.compute_bound("grouped forward", shape, flops, forward, "one dense product",
                    [&] { b.kernels().grouped_gemm(x, w, true, counts, y); }, bytes(2));
    b.compute_bound("grouped dgrad", shape, flops, dgrad, "one dense product",
                    [&] { b.kernels().grouped_gemm(y, w, false, counts, x); }, bytes(2));
    b.compute_bound("grouped wgrad", shape, flops, wgrad, "one dense product",
                    [&] { b.kernels().grouped_wgrad(y, x, counts, dw, true); }, bytes(8));
    if (kind != Counts::even) continue;
    // The same where cuBLASLt has no grouped product.
    b.compute_bound("grouped forward without cuBLASLt", shape, flops, forward, "one dense product",
                    [&] { cutlass->grouped_gemm(x, w, true, counts, y); });
    b.compute_bound("grouped wgrad without cuBLASLt", shape, flops, wgrad, "one dense product",
                    [&] { cutlass->grouped_wgrad(y, x, counts, dw, true); });
  }
}

struct DenseShape {
  const char* name;
  std::int64_t m, n, k;
};
constexpr DenseShape kDense[] = {
    {"square", 8192, 8192, 8192},           {"Mixtral qkv", 8192, 6144, 4096},
    {"Mixtral out", 8192, 4096, 4096},      {"Qwen3-30B qkv", 8192, 5120, 2048},
    {"DeepSeek-V3 q_b", 8192, 24576, 1536}, {"DeepSeek-V3 out", 8192, 7168, 16384},
    {"head 32000", 8192, 32000, 4096}};

}  // namespace

void dense_products(Bench& b) {
  if (!b.wanted("gemm")) return;
  for (const auto& [name, m, n, k] : kDense) {
    b.attempt("gemm", name, [&] { dense(b, name, m, n, k); });
  }
}

void grouped_products(Bench& b) {
  if (!b.wanted("grouped")) return;
  for (const Model& m : kModels) {
    b.attempt("grouped", m.name, [&] { grouped(b, m, 2 * m.f, m.h, "up"); });
    b.attempt("grouped", m.name, [&] { grouped(b, m, m.h, m.f, "down"); });
  }
}

}  // namespace pleat::bench
