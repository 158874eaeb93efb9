// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that look at every token by itself: routing to experts, dispatch in expert order, the
// loss head. Bytes as the simulator counts them: of every operand, the logits of a top-k once a
// pick, of the loss statistics twice.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

using Prepare = std::function<std::function<void()>(Bench&, unsigned)>;

KernelPoint point(PointSet set, KernelClass kernel, std::string name, std::int64_t floats,
                  std::int64_t words, Prepare prepare) {
  return {.name = std::move(name),
          .kernel = kernel,
          .flops = 0,
          .bytes = point_bytes(set, floats, words),
          .math = floats_of(set),
          .prepare = std::move(prepare)};
}

// Tokens routed to k of E experts by random logits.
struct Routed {
  Buffer logits, probs;
  IndexBuffer experts, counts;
  Routed(Bench& bench, const RouterShape& shape, std::int64_t tokens, unsigned seed)
      : logits(bench, tokens, shape.experts, seed, DType::fp32),
        probs(bench, tokens, shape.top_k, seed + 1, DType::fp32),
        experts(bench, std::vector<std::int32_t>(static_cast<std::size_t>(tokens * shape.top_k)),
                shape.top_k),
        counts(bench, std::vector<std::int32_t>(static_cast<std::size_t>(shape.experts))) {
    bench.kernels().router_topk(logits.view(), {}, probs.view(), experts.view(), shape);
    bench.kernels().expert_counts(experts.view(), counts.view());
  }
};

void append_router(PointSet set, std::vector<KernelPoint>& points, std::int64_t t, std::int64_t e,
                   std::int64_t k) {
  const RouterShape shape{.experts = e, .top_k = k};
  points.push_back(point(
      set, KernelClass::router, fmt::format("router_topk {} tokens, {} of {}", t, k, e), 0,
      k * t * e + 2 * t * k, [=](Bench& bench, unsigned seed) {
        const Routed r(bench, shape, t, seed);
        return [=, &bench] {
          bench.kernels().router_topk(r.logits.view(), {}, r.probs.view(), r.experts.view(), shape);
        };
      }));
  points.push_back(
      point(set, KernelClass::router_bwd,
            fmt::format("router_topk.bwd {} tokens, {} of {}", t, k, e), 0, 2 * t * e + 3 * t * k,
            [=](Bench& bench, unsigned seed) {
              const Routed r(bench, shape, t, seed);
              const Buffer dprobs(bench, t, k, seed + 2, DType::fp32);
              const Buffer dlogits(bench, t, e, seed + 3, DType::fp32);
              return [=, &bench] {
                bench.kernels().router_topk_bwd(dprobs.view(), r.logits.view(), r.probs.view(),
                                                r.experts.view(), dlogits.view(), shape);
              };
            }));
}

void append_permute(PointSet set, std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h,
                    std::int64_t e, std::int64_t k) {
  const RouterShape shape{.experts = e, .top_k = k};
  const std::int64_t sent = t * k;
  points.push_back(point(
      set, KernelClass::permute, fmt::format("permute {}x{} tokens, {} of {}", t, h, k, e),
      t * h + sent * h, 2 * t * k + e + 2 * sent, [=](Bench& bench, unsigned seed) {
        const Routed r(bench, shape, t, seed);
        const Buffer x(bench, t, h, seed + 2), px(bench, sent, h, seed + 3),
            pp(bench, sent, 1, seed + 4, DType::fp32);
        const IndexBuffer map(bench, std::vector<std::int32_t>(static_cast<std::size_t>(sent)), k);
        return [=, &bench] {
          bench.kernels().permute(x.view(), r.probs.view(), r.experts.view(), r.counts.view(), 0,
                                  px.view(), pp.view(), map.view());
        };
      }));
  if (set == PointSet::cpu) return;
  points.push_back(point(
      set, KernelClass::permute, fmt::format("permute_bwd {}x{} tokens, {} of {}", t, h, k, e),
      t * h + sent * h, t * k + 2 * sent, [=](Bench& bench, unsigned seed) {
        const Routed r(bench, shape, t, seed);
        const Buffer x(bench, t, h, seed + 2), px(bench, sent, h, seed + 3),
            pp(bench, sent, 1, seed + 4, DType::fp32), dprobs(bench, t, k, seed + 5, DType::fp32);
        const IndexBuffer map(bench, std::vector<std::int32_t>(static_cast<std::size_t>(sent)), k);
        bench.kernels().permute(x.view(), r.probs.view(), r.experts.view(), r.counts.view(), 0,
                                px.view(), pp.view(), map.view());
        return [=, &bench] {
          bench.kernels().permute_bwd(px.view(), pp.view(), map.view(), x.view(), dprobs.view(),
                                      false);
        };
      }));
}

void append_loss(PointSet set, std::vector<KernelPoint>& points, std::int64_t t, std::int64_t v) {
  const auto labels = [=](Bench& bench) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(t));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7 % v);
    return IndexBuffer(bench, values);
  };
  points.push_back(
      point(set, KernelClass::loss, fmt::format("ce_stats {}x{}", t, v), 2 * t * v, 4 * t,
            [=](Bench& bench, unsigned seed) {
              const Buffer logits(bench, t, v, seed), stats(bench, t, 3, seed + 1, DType::fp32);
              const IndexBuffer targets = labels(bench);
              return [=, &bench] {
                bench.kernels().ce_stats(logits.view(), targets.view(), {0, v}, stats.view());
              };
            }));
  points.push_back(
      point(set, KernelClass::loss, fmt::format("ce_loss {}x{}", t, v), 2 * t * v, 4 * t + 1,
            [=](Bench& bench, unsigned seed) {
              const Buffer logits(bench, t, v, seed), stats(bench, t, 3, seed + 1, DType::fp32);
              const Buffer loss(bench, 1, 1, seed + 2, DType::fp32);
              const IndexBuffer targets = labels(bench);
              bench.kernels().ce_stats(logits.view(), targets.view(), {0, v}, stats.view());
              return [=, &bench] {
                bench.kernels().ce_loss(logits.view(), targets.view(), {0, v}, stats.view(), 1.0,
                                        {}, loss.view());
              };
            }));
}

}  // namespace

std::vector<KernelPoint> routing_points(PointSet set) {
  std::vector<KernelPoint> points;
  if (set == PointSet::gpu) {
    for (std::int64_t tokens : {1024, 4096, 32768, 262144}) {
      append_router(set, points, tokens, 8, 2);
      append_router(set, points, tokens, 128, 8);
      append_router(set, points, tokens, 256, 8);
    }
    for (std::int64_t tokens : {1024, 8192, 32768}) {
      append_permute(set, points, tokens, 4096, 8, 2);
      append_permute(set, points, tokens, 2048, 128, 8);
      append_permute(set, points, tokens, 7168, 256, 8);
    }
    for (std::int64_t tokens : {1024, 8192, 16384}) {
      append_loss(set, points, tokens, 32000);
      append_loss(set, points, tokens, 131072);
    }
    return points;
  }
  for (std::int64_t tokens : {64, 512, 2048}) {
    append_router(set, points, tokens, 8, 2);
    append_router(set, points, tokens, 64, 6);
    append_permute(set, points, tokens, 128, 8, 2);
    append_loss(set, points, tokens, 256);
  }
  append_router(set, points, 1024, 16, 4);
  append_permute(set, points, 256, 512, 8, 2);
  append_loss(set, points, 128, 4096);
  return points;
}

}  // namespace pleat
