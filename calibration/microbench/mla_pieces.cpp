// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention of a GPU without a mask, and of a context-parallel chunk's queries
// with keys of chunks before it: judged by the rates of whole causal sequences. Every head's key is in
// one piece, as context parallelism sends it.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

// Of one tensor-parallel rank of eight of DeepSeek-V3's 128 heads.
constexpr std::int64_t kHeads = 16, kNope = 128, kRope = 64, kValue = 128;
constexpr std::int64_t kWidth = kNope + kRope, kKeyAndValue = kWidth + kValue;

using Ranges = std::vector<std::array<std::int32_t, 2>>;

// Columns of q and kv, or of their gradients (backend/execute_attention.cpp has the same).
struct Columns {
  HeadColumns q, k, v;
};

Columns columns_of(View q, View kv) {
  return {.q = {.x = q, .first = 0, .stride = kWidth, .width = kWidth},
          .k = {.x = kv, .first = 0, .stride = kKeyAndValue, .width = kWidth},
          .v = {.x = kv, .first = kWidth, .stride = kKeyAndValue, .width = kValue}};
}

KernelPoint point(bool backward, bool chunk, std::int64_t rows, std::int64_t keys) {
  const double pairs = static_cast<double>(rows) * static_cast<double>(keys);  // of one head
  const std::int64_t q = rows * kHeads * kWidth, kv = keys * kHeads * kKeyAndValue,
                     o = rows * kHeads * kValue;
  const double columns = static_cast<double>(backward ? 3 * kWidth + 2 * kValue : kWidth + kValue);
  KernelPoint p{
      .name = fmt::format("{}_mla_attention{} 1x{} of {}, {} heads of {} and {}",
                          chunk ? "chunk" : "full", backward ? ".bwd" : "", rows, keys, kHeads,
                          kWidth, kValue),
      .kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
      .flops = 2 * pairs * kHeads * columns,
      .bytes = point_bytes(PointSet::gpu, (q + kv + o) * (backward ? 2 : 1), rows * kHeads),
      .math = DType::bf16,
      .prepare = {},
      .shape = AttentionSize{.rows = static_cast<double>(rows),
                             .heads = kHeads,
                             .seq = 2 * static_cast<double>(keys),
                             .value_head = kValue,
                             .layout = AttentionLayout::mla,
                             .backward = backward,
                             .all_keys = true},
      .share = kJudgedShare};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer x(bench, rows, kHeads * kWidth, seed),
        y(bench, keys, kHeads * kKeyAndValue, seed + 1),
        out(bench, rows, kHeads * kValue, seed + 2),
        sums(bench, rows, kHeads, seed + 3, DType::fp32);
    const auto ranges = std::make_shared<Ranges>(static_cast<std::size_t>(rows),
                                                 std::array{0, static_cast<std::int32_t>(keys)});
    const auto piece = [=] {  // holds on to what it points to
      const Columns c = columns_of(x.view(), y.view());
      return AttentionPiece{.batch = 1,
                            .heads = kHeads,
                            .scale = 1 / std::sqrt(static_cast<double>(kWidth)),
                            .q = {c.q, {}},
                            .k = {c.k, {}},
                            .v = c.v,
                            .visible = reinterpret_cast<const std::int32_t(*)[2]>(ranges->data())};
    };
    const auto heads = [](const Buffer& b) {
      return HeadColumns{.x = b.view(), .first = 0, .stride = kValue, .width = kValue};
    };
    // A chunk's other keys come after its own.
    const auto forward = [=, &bench] {
      bench.kernels().attention_piece(piece(), heads(out), sums.view(), chunk);
    };
    if (!backward) return forward;
    forward();
    const Buffer d_o(bench, rows, kHeads * kValue, seed + 4),
        dx(bench, rows, kHeads * kWidth, seed + 5),
        dy(bench, keys, kHeads * kKeyAndValue, seed + 6);
    return [=, &bench] {
      const Columns d = columns_of(dx.view(), dy.view());
      bench.kernels().attention_piece_bwd(
          piece(), heads(d_o), heads(out), sums.view(),
          {.dq = {d.q, {}}, .dk = {d.k, {}}, .dv = d.v});
    };
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> mla_piece_points(std::int64_t part) {
  std::vector<KernelPoint> points;
  for (const bool backward : {false, true}) {
    for (const std::int64_t keys : {4096, 8192}) {
      points.push_back(point(backward, false, keys / part, keys / part));
      points.push_back(point(backward, true, 4096 / part, keys / part));
    }
  }
  return points;
}

}  // namespace pleat
