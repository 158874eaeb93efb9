// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of a GPU in the shapes that a profile's rates do not cover: windows, packed sequences,
// chunks of context parallelism; with grouped heads and with multi-head latent attention.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "calibration/microbench/points.hpp"

namespace pleat {

// Attention of a GPU under a sliding window and of packed sequences, without a mask, and of the
// queries of a context-parallel chunk with keys of chunks before it: what a profile's rates, which
// are of whole causal sequences, are held against.

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

// Multi-head latent attention of a GPU without a mask, and of a context-parallel chunk's queries
// with keys of chunks before it: judged by the rates of whole causal sequences. Every head's key is
// in one piece, as context parallelism sends it.

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
