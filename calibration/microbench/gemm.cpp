// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense matrix products in the three forms of a linear layer: y = x W^T, dx = dy W, dW += dy^T x.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

enum class Form { forward, dgrad, wgrad };

ProductShape shape_of(Form form, double tokens, double out, double in) {
  switch (form) {
    case Form::forward:
      return {.m = tokens, .n = out, .k = in};
    case Form::dgrad:
      return {.m = tokens, .n = in, .k = out, .backward = true};
    case Form::wgrad:
      return {.m = out, .n = in, .k = tokens, .weight_gradient = true, .backward = true};
  }
  return {};
}

KernelPoint point(PointSet set, Form form, std::int64_t tokens, std::int64_t out, std::int64_t in) {
  const char* label = form == Form::forward ? "gemm"
                      : form == Form::dgrad ? "gemm.dgrad"
                                            : "gemm.wgrad";
  const double t = static_cast<double>(tokens), n = static_cast<double>(out),
               k = static_cast<double>(in);
  // The weight gradient is read and written, in fp32.
  const std::int64_t activations = tokens * (out + in), weights = out * in;
  KernelPoint p{.name = fmt::format("{} {}x{}x{}", label, tokens, out, in),
                .kernel = KernelClass::gemm,
                .flops = 2 * t * n * k,
                .bytes = form == Form::wgrad ? point_bytes(set, activations, 2 * weights)
                                             : point_bytes(set, activations + weights),
                .math = floats_of(set),
                .prepare = {},
                .shape = shape_of(form, t, n, k)};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer x(bench, tokens, in, seed), y(bench, tokens, out, seed + 1);
    const Buffer w(bench, out, in, seed + 2, form == Form::wgrad ? DType::fp32 : bench.floats());
    switch (form) {
      case Form::forward:
        return
            [=, &bench] { bench.kernels().gemm(x.view(), false, w.view(), true, y.view(), false); };
      case Form::dgrad:
        return [=, &bench] {
          bench.kernels().gemm(y.view(), false, w.view(), false, x.view(), false);
        };
      case Form::wgrad:
        return
            [=, &bench] { bench.kernels().gemm(y.view(), true, x.view(), false, w.view(), true); };
    }
    return {};
  };
  return p;
}

std::vector<KernelPoint> gpu_gemm_points() {
  std::vector<KernelPoint> points;
  const auto add = [&](Form form, std::int64_t tokens, std::int64_t out, std::int64_t in) {
    points.push_back(point(PointSet::gpu, form, tokens, out, in));
  };
  // [out, in] of Mixtral, Qwen3-30B, DeepSeek-V3: attention, experts, heads, also split over ranks.
  const std::pair<std::int64_t, std::int64_t> kWeights[] = {
      {4096, 4096}, {6144, 4096},  {28672, 4096}, {4096, 14336}, {5120, 2048},  {2048, 4096},
      {1536, 2048}, {24576, 1536}, {7168, 16384}, {2112, 7168},  {32000, 4096}, {3072, 1024}};
  std::size_t turn = 0;
  for (const auto& [out, in] : kWeights) {
    for (std::int64_t tokens = 128; tokens <= 32768; tokens *= 2) {
      add(Form::forward, tokens, out, in);
      add(turn++ % 2 == 0 ? Form::dgrad : Form::wgrad, tokens, out, in);
    }
  }
  for (std::int64_t tokens = 4224; tokens < 5632; tokens += 128) {  // waves of tiles
    add(Form::forward, tokens, 4096, 4096);
  }
  return points;
}

}  // namespace

KernelPoint sustained_product() {
  KernelPoint p = point(PointSet::gpu, Form::forward, 8192, 8192, 8192);
  p.name = "sustained product of 8192x8192x8192";
  return p;
}

std::vector<KernelPoint> gemm_points(PointSet set) {
  if (set == PointSet::gpu) return gpu_gemm_points();
  std::vector<KernelPoint> points;
  for (std::int64_t tokens : {64, 256, 1024}) {
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{16, 128},
                                  {64, 64},
                                  {192, 128},
                                  {128, 256},
                                  {256, 256},
                                  {512, 256}}) {
      points.push_back(point(set, Form::forward, tokens, out, in));
      points.push_back(point(set, tokens == 256 ? Form::wgrad : Form::dgrad, tokens, out, in));
    }
  }
  // Of models with tens of millions of parameters: weights and activations of megabytes.
  for (const auto& [out, in] :
       {std::pair<std::int64_t, std::int64_t>{512, 512}, {1024, 512}, {512, 1024}, {1536, 512}}) {
    for (const Form form : {Form::forward, Form::dgrad, Form::wgrad}) {
      points.push_back(point(set, form, 1024, out, in));
    }
  }
  return points;
}

}  // namespace pleat
