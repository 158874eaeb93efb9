// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that look at every token by itself: routing to experts, dispatch in expert order, the loss
// head. Bytes as the simulator counts them: of every operand, the logits of a top-k once a pick, of
// the loss statistics twice.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

using Prepare = std::function<std::function<void()>(KernelSet&, unsigned)>;

KernelPoint point(KernelClass kernel, std::string name, std::int64_t words, Prepare prepare) {
  return {.name = std::move(name),
          .kernel = kernel,
          .flops = 0,
          .bytes = 4.0 * static_cast<double>(words),
          .prepare = std::move(prepare)};
}

// Tokens routed to k of E experts by random logits.
struct Routed {
  Buffer logits, probs;
  IndexBuffer experts, counts;
  Routed(KernelSet& kernels, const RouterShape& shape, std::int64_t tokens, unsigned seed)
      : logits(tokens, shape.experts, seed),
        probs(tokens, shape.top_k, seed + 1),
        experts(std::vector<std::int32_t>(static_cast<std::size_t>(tokens * shape.top_k)),
                shape.top_k),
        counts(std::vector<std::int32_t>(static_cast<std::size_t>(shape.experts))) {
    kernels.router_topk(logits.view(), {}, probs.view(), experts.view(), shape);
    kernels.expert_counts(experts.view(), counts.view());
  }
};

void append_router(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t e,
                   std::int64_t k) {
  const RouterShape shape{.experts = e, .top_k = k};
  points.push_back(point(KernelClass::router, fmt::format("router_topk {} tokens, {} of {}", t, k, e),
                         k * t * e + 2 * t * k, [=](KernelSet& kernels, unsigned seed) {
    const Routed r(kernels, shape, t, seed);
    return [=, &kernels] {
      kernels.router_topk(r.logits.view(), {}, r.probs.view(), r.experts.view(), shape);
    };
  }));
  points.push_back(point(KernelClass::norm,
                         fmt::format("router_topk.bwd {} tokens, {} of {}", t, k, e),
                         2 * t * e + 3 * t * k, [=](KernelSet& kernels, unsigned seed) {
    const Routed r(kernels, shape, t, seed);
    const Buffer dprobs(t, k, seed + 2), dlogits(t, e, seed + 3);
    return [=, &kernels] {
      kernels.router_topk_bwd(dprobs.view(), r.logits.view(), r.probs.view(), r.experts.view(),
                              dlogits.view(), shape);
    };
  }));
}

void append_permute(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h,
                    std::int64_t e, std::int64_t k) {
  const RouterShape shape{.experts = e, .top_k = k};
  const std::int64_t sent = t * k;
  points.push_back(point(KernelClass::permute,
                         fmt::format("permute {}x{} tokens, {} of {}", t, h, k, e),
                         t * h + 2 * t * k + e + sent * h + 2 * sent,
                         [=](KernelSet& kernels, unsigned seed) {
    const Routed r(kernels, shape, t, seed);
    const Buffer x(t, h, seed + 2), px(sent, h, seed + 3), pp(sent, 1, seed + 4);
    const IndexBuffer map(std::vector<std::int32_t>(static_cast<std::size_t>(sent)), k);
    return [=, &kernels] {
      kernels.permute(x.view(), r.probs.view(), r.experts.view(), r.counts.view(), 0, px.view(),
                      pp.view(), map.view());
    };
  }));
}

void append_loss(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t v) {
  const auto labels = [=] {
    std::vector<std::int32_t> values(static_cast<std::size_t>(t));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7 % v);
    return IndexBuffer(std::move(values));
  };
  points.push_back(point(KernelClass::loss, fmt::format("ce_stats {}x{}", t, v),
                         2 * t * v + 4 * t,
                         [=](KernelSet& kernels, unsigned seed) {
    const Buffer logits(t, v, seed), stats(t, 3, seed + 1);
    const IndexBuffer targets = labels();
    return [=, &kernels] { kernels.ce_stats(logits.view(), targets.view(), {0, v}, stats.view()); };
  }));
  points.push_back(point(KernelClass::loss, fmt::format("ce_loss {}x{}", t, v), 2 * t * v + 4 * t + 1,
                         [=](KernelSet& kernels, unsigned seed) {
    const Buffer logits(t, v, seed), stats(t, 3, seed + 1), loss(1, 1, seed + 2);
    const IndexBuffer targets = labels();
    kernels.ce_stats(logits.view(), targets.view(), {0, v}, stats.view());
    return [=, &kernels] {
      kernels.ce_loss(logits.view(), targets.view(), {0, v}, stats.view(), 1.0, {}, loss.view());
    };
  }));
}

}  // namespace

std::vector<KernelPoint> routing_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t tokens : {64, 512, 2048}) {
    append_router(points, tokens, 8, 2);
    append_router(points, tokens, 64, 6);
    append_permute(points, tokens, 128, 8, 2);
    append_loss(points, tokens, 256);
  }
  append_router(points, 1024, 16, 4);
  append_permute(points, 256, 512, 8, 2);
  append_loss(points, 128, 4096);
  return points;
}

}  // namespace pleat
