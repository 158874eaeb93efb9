// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of a GPU under a sliding window and of packed sequences, without a mask, and of the
// queries of a context-parallel chunk with keys of chunks before it: what a profile's rates, which
// are of whole causal sequences, are held against.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

enum class Seen { window, packed, full, chunk };

const char* name_of(Seen seen) {
  switch (seen) {
    case Seen::window:
      return "window";
    case Seen::packed:
      return "packed";
    case Seen::full:
      return "full";
    case Seen::chunk:
      return "chunk";
  }
  return "?";
}

bool all_keys(Seen seen) { return seen == Seen::full || seen == Seen::chunk; }

using Ranges = std::vector<std::array<std::int32_t, 2>>;

// Keys that each query sees: the last `length`, those of its own sequence of `length`, or `length`
// all.
std::shared_ptr<const Ranges> ranges_of(Seen seen, std::int64_t rows, std::int64_t length) {
  auto ranges = std::make_shared<Ranges>();
  for (std::int64_t r = 0; r < rows; ++r) {
    if (all_keys(seen)) {
      ranges->push_back({0, static_cast<std::int32_t>(length)});
      continue;
    }
    const std::int64_t first =
        seen == Seen::window ? std::max<std::int64_t>(0, r + 1 - length) : r / length * length;
    ranges->push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(r + 1)});
  }
  return ranges;
}

KernelPoint point(bool backward, Seen seen, std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t heads = 32, groups = 8, d = 128, columns = (heads + 2 * groups) * d;
  const auto ranges = ranges_of(seen, rows, length);
  double pairs = 0;  // of a query and a key, of one head
  for (const auto& [first, last] : *ranges) pairs += last - first;
  // The keys lie beside the queries, but for those of other chunks.
  const std::int64_t apart = seen == Seen::chunk ? length : 0;
  const std::int64_t o = rows * heads * d, kv = 2 * groups * d * (apart > 0 ? apart : rows);
  const std::int64_t qkv = o + kv;
  KernelPoint p{
      .name = fmt::format("{}_attention{} 1x{} of {}, {} heads of {}, {} groups", name_of(seen),
                          backward ? ".bwd" : "", rows, length, heads, d, groups),
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
                             .pieces = !all_keys(seen),
                             .all_keys = all_keys(seen)}};
  p.prepare = [=](Bench& bench, unsigned seed) -> std::function<void()> {
    const Buffer packed(bench, rows, columns, seed), out(bench, rows, heads * d, seed + 1),
        sums(bench, rows, heads, seed + 2, DType::fp32);
    const Buffer keys = apart > 0 ? Buffer(bench, apart, columns, seed + 5) : packed;
    const auto piece = [=] {  // holds on to what it points to
      constexpr std::int64_t share = heads / groups;
      const View x = packed.view(), y = keys.view();
      return AttentionPiece{
          .batch = 1,
          .heads = heads,
          .scale = 1 / std::sqrt(static_cast<double>(d)),
          .q = {{.x = x, .first = 0, .stride = d, .width = d}, {}},
          .k = {{.x = y, .first = heads * d, .stride = d, .width = d, .share = share}, {}},
          .v = {.x = y, .first = (heads + groups) * d, .stride = d, .width = d, .share = share},
          .visible = reinterpret_cast<const std::int32_t(*)[2]>(ranges->data())};
    };
    const HeadColumns result{.x = out.view(), .first = 0, .stride = d, .width = d};
    const auto forward = [=, &bench] {
      // A chunk's other keys come after its own.
      bench.kernels().attention_piece(piece(), result, sums.view(), seen == Seen::chunk);
      static_cast<void>(out);
    };
    if (!backward) return forward;
    forward();
    const Buffer gradient(bench, rows, heads * d, seed + 3), to(bench, rows, columns, seed + 4);
    const Buffer to_keys = apart > 0 ? Buffer(bench, apart, columns, seed + 6) : to;
    return [=, &bench] {
      const View dx = to.view(), dy = to_keys.view();
      constexpr std::int64_t share = heads / groups;
      const AttentionPieceGradient gradients{
          .dq = {{.x = dx, .first = 0, .stride = d, .width = d}, {}},
          .dk = {{.x = dy, .first = heads * d, .stride = d, .width = d, .share = share}, {}},
          .dv = {.x = dy, .first = (heads + groups) * d, .stride = d, .width = d, .share = share}};
      bench.kernels().attention_piece_bwd(
          piece(), {.x = gradient.view(), .first = 0, .stride = d, .width = d}, result, sums.view(),
          gradients);
      static_cast<void>(out);
    };
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> attention_piece_points(std::int64_t part) {
  std::vector<KernelPoint> points;
  const auto add = [&](bool backward, Seen seen, std::int64_t rows, std::int64_t length) {
    points.push_back(point(backward, seen, rows / part, length / part));
  };
  for (const bool backward : {false, true}) {
    for (const std::int64_t rows : {8192, 32768}) {
      for (const std::int64_t length : {1024, 4096}) {
        for (const Seen seen : {Seen::window, Seen::packed}) add(backward, seen, rows, length);
      }
    }
    for (const std::int64_t rows : {4096, 8192}) {
      add(backward, Seen::full, rows, rows);
      add(backward, Seen::chunk, 4096, rows);
    }
  }
  return points;
}

}  // namespace pleat
