// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products over the local experts: forward, dgrad, wgrad; rows of experts alike, uneven
// with an empty expert, by a power law, all with one.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

enum class GroupedForm { forward, dgrad, wgrad };
enum class Spread { uneven, even, zipf, one };

const char* name_of(Spread spread) {
  switch (spread) {
    case Spread::uneven:
      return "";
    case Spread::even:
      return ", even";
    case Spread::zipf:
      return ", zipf";
    case Spread::one:
      return ", one";
  }
  return "";
}

// Shares of `rows`; uneven: 1 : 2 : 3 : …, the last expert empty where there are more than two;
// zipf: 1 : 1/2 : 1/3 : ….
std::vector<std::int32_t> counts_of(Spread spread, std::int64_t rows, std::int64_t experts) {
  std::vector<double> shares(static_cast<std::size_t>(experts), 0);
  double all = 0;
  for (std::size_t e = 0; e < shares.size(); ++e) {
    const auto n = static_cast<double>(e + 1);
    const bool last = e + 1 == shares.size();
    switch (spread) {
      case Spread::uneven:
        shares[e] = last && experts > 2 ? 0 : n;
        break;
      case Spread::even:
        shares[e] = 1;
        break;
      case Spread::zipf:
        shares[e] = 1 / n;
        break;
      case Spread::one:
        shares[e] = e == 0 ? 1 : 0;
        break;
    }
    all += shares[e];
  }
  std::vector<std::int32_t> counts;
  std::int64_t given = 0;
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    const auto until = static_cast<std::int64_t>(static_cast<double>(rows) * sum / all + 0.5);
    counts.push_back(static_cast<std::int32_t>(until - given));
    given = until;
  }
  return counts;
}

ProductShape shape_of(GroupedForm form, Spread spread, std::int64_t rows, std::int64_t experts,
                      std::int64_t out, std::int64_t in) {
  const auto t = static_cast<double>(rows), n = static_cast<double>(out),
             k = static_cast<double>(in);
  const bool wgrad = form == GroupedForm::wgrad;
  return {.m = wgrad ? n : t,
          .n = form == GroupedForm::forward ? n : k,
          .k = form == GroupedForm::forward ? k : wgrad ? t : n,
          .groups = static_cast<double>(experts),
          .weight_gradient = wgrad,
          .backward = form != GroupedForm::forward,
          .even = spread == Spread::even};
}

KernelPoint point(PointSet set, GroupedForm form, Spread spread, std::int64_t rows,
                  std::int64_t experts, std::int64_t out, std::int64_t in) {
  const char* label = form == GroupedForm::forward ? ""
                      : form == GroupedForm::dgrad ? ".dgrad"
                                                   : ".wgrad";
  const std::int64_t activations = rows * (out + in), weights = experts * out * in;
  KernelPoint p{
      .name = fmt::format("grouped_gemm{} {}x{}x{} {} experts{}", label, rows, out, in, experts,
                          name_of(spread)),
      .kernel = KernelClass::grouped_gemm,
      .flops = 2 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in),
      .bytes = form == GroupedForm::wgrad ? point_bytes(set, activations, 2 * weights + experts)
                                   : point_bytes(set, activations + weights, experts),
      .math = floats_of(set),
      .prepare = {},
      .shape = shape_of(form, spread, rows, experts, out, in)};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer x(bench, rows, in, seed), y(bench, rows, out, seed + 1);
    const Buffer w(bench, experts * out, in, seed + 2,
                   form == GroupedForm::wgrad ? DType::fp32 : bench.floats());
    const IndexBuffer counts(bench, counts_of(spread, rows, experts));
    switch (form) {
      case GroupedForm::forward:
        return [=, &bench] {
          bench.kernels().grouped_gemm(x.view(), w.view(), true, counts.view(), y.view());
        };
      case GroupedForm::dgrad:
        return [=, &bench] {
          bench.kernels().grouped_gemm(y.view(), w.view(), false, counts.view(), x.view());
        };
      case GroupedForm::wgrad:
        return [=, &bench] {
          bench.kernels().grouped_wgrad(y.view(), x.view(), counts.view(), w.view(), true);
        };
    }
    return {};
  };
  return p;
}

std::vector<KernelPoint> gpu_grouped_points() {
  std::vector<KernelPoint> points;
  constexpr double kMost = 24e9;  // bytes of one point
  const auto add = [&](GroupedForm form, Spread spread, std::int64_t rows, std::int64_t experts,
                       std::int64_t out, std::int64_t in) {
    KernelPoint p = point(PointSet::gpu, form, spread, rows, experts, out, in);
    if (p.bytes <= kMost) points.push_back(std::move(p));
  };
  // Up and down projections of Mixtral, Qwen3-235B, Qwen3-30B, DeepSeek-V3.
  const std::pair<std::int64_t, std::int64_t> kWeights[] = {
      {28672, 4096}, {4096, 14336}, {3072, 4096}, {1536, 2048}, {2048, 768}, {4096, 7168}};
  std::size_t turn = 0;
  for (const auto& [out, in] : kWeights) {
    for (std::int64_t experts = 1; experts <= 64; experts *= 2) {
      for (std::int64_t each = 16; each <= 8192 && each * experts <= 65536; each *= 4) {
        add(static_cast<GroupedForm>(turn++ % 3), Spread::even, each * experts, experts, out, in);
      }
    }
    for (const Spread spread : {Spread::uneven, Spread::zipf, Spread::one}) {
      for (const GroupedForm form :
           {GroupedForm::forward, GroupedForm::dgrad, GroupedForm::wgrad}) {
        add(form, spread, 8192, 16, out, in);
      }
    }
  }
  return points;
}

}  // namespace

std::vector<KernelPoint> grouped_gemm_points(PointSet set) {
  if (set == PointSet::gpu) return gpu_grouped_points();
  std::vector<KernelPoint> points;
  for (std::int64_t experts : {2, 4, 8}) {
    for (std::int64_t rows : {64, 256, 1024}) {
      points.push_back(point(set, GroupedForm::forward, Spread::uneven, rows, experts, 256, 128));
      points.push_back(point(set, GroupedForm::forward, Spread::uneven, rows, experts, 128, 64));
      points.push_back(point(set, GroupedForm::wgrad, Spread::uneven, rows, experts, 256, 128));
    }
  }
  for (std::int64_t rows : {1024, 4096}) {
    points.push_back(point(set, GroupedForm::forward, Spread::uneven, rows, 16, 1024, 512));
    points.push_back(point(set, GroupedForm::forward, Spread::uneven, rows, 16, 512, 512));
    points.push_back(point(set, GroupedForm::wgrad, Spread::uneven, rows, 16, 1024, 512));
  }
  return points;
}

}  // namespace pleat
