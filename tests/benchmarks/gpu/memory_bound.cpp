// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels by rows and elements at sizes that move more than 512 MB.
#include <fmt/core.h>

#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {
namespace {

void norms(Bench& b, std::int64_t rows, std::int64_t cols) {
  if (!b.wanted("rms_norm")) return;
  const View x = b.random(DType::bf16, rows, cols), y = b.random(DType::bf16, rows, cols);
  const View w = b.random(DType::bf16, 1, cols), dw = b.random(DType::fp32, 1, cols);
  const View rstd = b.random(DType::fp32, 1, rows), dy = b.random(DType::bf16, rows, cols);
  const View more = b.random(DType::bf16, rows, cols), dx = b.random(DType::bf16, rows, cols);
  const std::string shape = fmt::format("{}x{} bf16", rows, cols);
  const auto n = static_cast<double>(rows * cols);
  b.memory_bound("rms_norm", shape, 4 * n, "2B*(x+y)",
                 [&] { b.kernels().rms_norm(x, w, y, rstd, 1e-5); });
  b.memory_bound("rms_norm_bwd", shape, 6 * n, "2B*(dy+x+dx)",
                 [&] { b.kernels().rms_norm_bwd(dy, x, w, rstd, {}, dx, dw); });
  b.memory_bound("rms_norm_bwd+residual", shape, 8 * n, "2B*(dy+x+dresidual+dx)",
                 [&] { b.kernels().rms_norm_bwd(dy, x, w, rstd, more, dx, dw); });
  b.memory_bound("rms_norm+residual", shape, 8 * n, "2B*(x+residual+sum+y)", [&] {
    b.kernels().rms_norm_quantize(x, more, dx, w, y, true, rstd, 1e-5, {});
  });
  b.memory_bound("add", shape, 6 * n, "2B*(a+b+y)", [&] { b.kernels().add(x, y, {}, dx); });
}

void heads(Bench& b) {
  const AttentionShape s{.batch = 8, .seq = 4096, .heads = 32, .kv_groups = 8, .head_dim = 128};
  const std::int64_t rows = s.batch * s.seq, cols = s.columns();
  const View x = b.random(DType::bf16, rows, cols), y = b.random(DType::bf16, rows, cols);
  const View w = b.random(DType::bf16, 1, 128), rstd = b.random(DType::fp32, rows, 40);
  const std::string shape = fmt::format("{}x(32+8+8)x128 bf16", rows);
  const auto turned = static_cast<double>(rows * 40 * 128), all = static_cast<double>(rows * cols);
  if (b.wanted("rope")) {
    for (const bool interleaved : {false, true}) {
      for (const bool inverse : {false, true}) {
        b.memory_bound(std::string("rope") + (interleaved ? " interleaved" : "") +
                           (inverse ? " inverse" : ""),
                       shape, 4 * turned, "2B*(read+write of q and k)", [&] {
                         b.kernels().rope(x, {.seq = 4096, .heads = 40, .stride = 128, .dim = 128,
                                              .interleaved = interleaved}, inverse);
                       });
      }
    }
  }
  if (b.wanted("head_norm")) {
    b.memory_bound("head_norm", shape, 4 * all, "2B*(x+y)",
                   [&] { b.kernels().head_norm(x, w, w, y, rstd, s, 1e-5); });
  }
}

void swiglu(Bench& b, std::int64_t rows, std::int64_t f) {
  if (!b.wanted("swiglu")) return;
  const View u = b.random(DType::bf16, rows, 2 * f), y = b.random(DType::bf16, rows, f);
  const View du = b.random(DType::bf16, rows, 2 * f), p = b.random(DType::fp32, 1, rows);
  const View dp = b.random(DType::fp32, 1, rows);
  const std::string shape = fmt::format("{}x{} bf16", rows, f);
  const auto n = static_cast<double>(rows * f);
  b.memory_bound("swiglu", shape, 6 * n, "2B*(u+y), u twice y",
                 [&] { b.kernels().swiglu(u, p, y); });
  b.memory_bound("swiglu_bwd", shape, 10 * n, "2B*(dy+u+du)",
                 [&] { b.kernels().swiglu_bwd(y, u, p, du, dp); });
}

void optimizer(Bench& b, std::int64_t n) {
  if (!b.wanted("adamw") && !b.wanted("cast")) return;
  const View g = b.random(DType::fp32, 1, n, 1e-3), m = b.random(DType::fp32, 1, n, 1e-3);
  const View v = b.random(DType::fp32, 1, n, 0), w = b.random(DType::fp32, 1, n);
  const View half = b.random(DType::bf16, 1, n);
  const std::string shape = fmt::format("{} parameters", n);
  const auto count = static_cast<double>(n);
  b.memory_bound("adamw fp32", shape, 28 * count, "4B*(g+2m+2v+2w)",
                 [&] { b.kernels().adamw(g, m, v, w, 1, {}); });
  b.memory_bound("adamw bf16 gradients", shape, 26 * count, "2B*g+4B*(2m+2v+2w)",
                 [&] { b.kernels().adamw(half, m, v, w, 1, {}); });
  b.memory_bound("adamw fp32 with weights", shape, 30 * count, "4B*(g+2m+2v+2w)+2B*weights",
                 [&] { b.kernels().adamw(g, m, v, w, 1, {}, half); });
  b.memory_bound("cast fp32 to bf16", shape, 6 * count, "4B*x+2B*y",
                 [&] { b.kernels().copy(w, half); });
  b.memory_bound("cast bf16 to fp32", shape, 6 * count, "2B*x+4B*y",
                 [&] { b.kernels().copy(half, w); });
  b.memory_bound("sum_of_squares", shape, 4 * count, "4B*x, host waits",
                 [&] { static_cast<void>(b.kernels().sum_of_squares(g)); });
}

}  // namespace

void memory_bound_kernels(Bench& b) {
  for (const auto& [rows, cols] : {std::pair{65536, 4096}, {32768, 7168}, {131072, 2048}}) {
    b.attempt("norms", fmt::format("{}x{}", rows, cols), [&] { norms(b, rows, cols); });
  }
  b.attempt("heads", "", [&] { heads(b); });
  for (const auto& [rows, f] : {std::pair{32768, 14336}, {262144, 1536}, {262144, 2048}}) {
    b.attempt("swiglu", fmt::format("{}x{}", rows, f), [&] { swiglu(b, rows, f); });
  }
  b.attempt("optimizer", "", [&] { optimizer(b, std::int64_t{1} << 27U); });
}

}  // namespace pleat::bench
