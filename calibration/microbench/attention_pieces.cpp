// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of a GPU under a sliding window and of packed sequences: what a profile's rates, which
// are of whole sequences, are held against.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

enum class Seen { window, packed };

using Ranges = std::vector<std::array<std::int32_t, 2>>;

// Keys that each query sees: the last `length`, or those of its own sequence of `length`.
std::shared_ptr<const Ranges> ranges_of(Seen seen, std::int64_t rows, std::int64_t length) {
  auto ranges = std::make_shared<Ranges>();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t first = seen == Seen::window ? std::max<std::int64_t>(0, r + 1 - length)
                                                    : r / length * length;
    ranges->push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(r + 1)});
  }
  return ranges;
}

KernelPoint point(bool backward, Seen seen, std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t heads = 32, groups = 8, d = 128, columns = (heads + 2 * groups) * d;
  const auto ranges = ranges_of(seen, rows, length);
  double pairs = 0;  // of a query and a key, of one head
  for (const auto& [first, last] : *ranges) pairs += last - first;
  const std::int64_t qkv = rows * columns, o = rows * heads * d;
  KernelPoint p{
      .name = fmt::format("{}_attention{} 1x{} of {}, {} heads of {}, {} groups",
                          seen == Seen::window ? "window" : "packed", backward ? ".bwd" : "", rows,
                          length, heads, d, groups),
      .kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
      .flops = 2 * pairs * heads * d * (backward ? 5 : 2),
      .bytes = point_bytes(PointSet::gpu, backward ? 2 * qkv + 2 * o : qkv + o, rows * heads),
      .math = DType::bf16,
      .prepare = {},
      .shape = AttentionSize{.rows = static_cast<double>(rows),
                             .heads = heads,
                             .seq = 2 * pairs / static_cast<double>(rows),
                             .value_head = d,
                             .backward = backward,
                             .pieces = true}};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer packed(bench, rows, columns, seed), out(bench, rows, heads * d, seed + 1),
        sums(bench, rows, heads, seed + 2, DType::fp32);
    const auto piece = [=] {  // holds on to what it points to
      constexpr std::int64_t share = heads / groups;
      const View x = packed.view();
      return AttentionPiece{
          .batch = 1,
          .heads = heads,
          .scale = 1 / std::sqrt(static_cast<double>(d)),
          .q = {{.x = x, .first = 0, .stride = d, .width = d}, {}},
          .k = {{.x = x, .first = heads * d, .stride = d, .width = d, .share = share}, {}},
          .v = {.x = x, .first = (heads + groups) * d, .stride = d, .width = d, .share = share},
          .visible = reinterpret_cast<const std::int32_t(*)[2]>(ranges->data())};
    };
    const HeadColumns result{.x = out.view(), .first = 0, .stride = d, .width = d};
    const auto forward = [=, &bench] {
      bench.kernels().attention_piece(piece(), result, sums.view(), false);
      static_cast<void>(out);
    };
    if (!backward) return forward;
    forward();
    const Buffer gradient(bench, rows, heads * d, seed + 3), to(bench, rows, columns, seed + 4);
    return [=, &bench] {
      const View dx = to.view();
      constexpr std::int64_t share = heads / groups;
      const AttentionPieceGradient gradients{
          .dq = {{.x = dx, .first = 0, .stride = d, .width = d}, {}},
          .dk = {{.x = dx, .first = heads * d, .stride = d, .width = d, .share = share}, {}},
          .dv = {.x = dx, .first = (heads + groups) * d, .stride = d, .width = d, .share = share}};
      bench.kernels().attention_piece_bwd(
          piece(), {.x = gradient.view(), .first = 0, .stride = d, .width = d}, result, sums.view(),
          gradients);
      static_cast<void>(out);
    };
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> attention_piece_points() {
  std::vector<KernelPoint> points;
  for (const bool backward : {false, true}) {
    for (const std::int64_t rows : {8192, 32768}) {
      for (const std::int64_t length : {1024, 4096}) {
        for (const Seen seen : {Seen::window, Seen::packed})
          points.push_back(point(backward, seen, rows, length));
      }
    }
  }
  return points;
}

}  // namespace pleat
