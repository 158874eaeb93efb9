// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense matrix products in the three forms of a linear layer: y = x W^T, dx = dy W, dW += dy^T x.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

enum class Form { forward, dgrad, wgrad };

KernelPoint point(Form form, std::int64_t tokens, std::int64_t out, std::int64_t in) {
  const char* label = form == Form::forward ? "gemm"
                      : form == Form::dgrad ? "gemm.dgrad"
                                            : "gemm.wgrad";
  const double t = static_cast<double>(tokens), n = static_cast<double>(out),
               k = static_cast<double>(in);
  // The weight gradient is read and written.
  const double elements = t * n + t * k + n * k * (form == Form::wgrad ? 2 : 1);
  KernelPoint p{.name = fmt::format("{} {}x{}x{}", label, tokens, out, in),
                .kernel = KernelClass::gemm,
                .flops = 2 * t * n * k,
                .bytes = 4 * elements,
                .prepare = {}};
  p.prepare = [=](KernelSet& kernels, unsigned seed) -> std::function<void()> {
    const Buffer x(tokens, in, seed), y(tokens, out, seed + 1), w(out, in, seed + 2);
    switch (form) {
      case Form::forward:
        return [=, &kernels] { kernels.gemm(x.view(), false, w.view(), true, y.view(), false); };
      case Form::dgrad:
        return [=, &kernels] { kernels.gemm(y.view(), false, w.view(), false, x.view(), false); };
      case Form::wgrad:
        return [=, &kernels] { kernels.gemm(y.view(), true, x.view(), false, w.view(), true); };
    }
    return {};
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> gemm_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t tokens : {64, 256, 1024}) {
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{16, 128},
                                  {64, 64},
                                  {192, 128},
                                  {128, 256},
                                  {256, 256},
                                  {512, 256}}) {
      points.push_back(point(Form::forward, tokens, out, in));
      points.push_back(point(tokens == 256 ? Form::wgrad : Form::dgrad, tokens, out, in));
    }
  }
  return points;
}

}  // namespace pleat
