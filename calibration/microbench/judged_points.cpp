// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives that no curve is fitted to: what the curves of the plain ones make of them is judged.
#include <algorithm>
#include <bit>

#include "calibration/microbench/expert_rows.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kLeastFitted = 1024;

// An element of fp32 for each rank at least.
bool can_be_shared(Collective kind, int ranks, std::int64_t bytes) {
  return kind == Collective::all_reduce || kind == Collective::send_recv || bytes >= 4 * ranks;
}

}  // namespace

std::vector<CollectivePoint> judged_points(int ranks, std::int64_t most_bytes) {
  std::vector<CollectivePoint> points;
  for (const Collective kind :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
        Collective::all_to_all, Collective::send_recv}) {
    const int group = kind == Collective::send_recv ? 2 : ranks;
    for (const std::int64_t bytes : {8, 64, 256}) {
      if (can_be_shared(kind, group, bytes)) points.push_back({kind, group, ranks, bytes});
    }
  }
  for (const Collective kind : {Collective::reduce_scatter, Collective::all_reduce}) {
    for (std::int64_t bytes = 4096; bytes <= most_bytes; bytes *= 16) {
      points.push_back(
          {.kind = kind, .group = ranks, .ranks = ranks, .bytes = bytes, .type = DType::bf16});
    }
  }
  for (const RowShares rows : {RowShares::uniform, RowShares::zipf, RowShares::hot}) {
    for (std::int64_t bytes = 128 * kExpertRowBytes; bytes <= most_bytes; bytes *= 16) {
      points.push_back({.kind = Collective::all_to_all,
                        .group = ranks,
                        .ranks = ranks,
                        .bytes = bytes,
                        .rows = rows});
    }
  }
  return points;
}

std::vector<CollectivePoint> both_ways_points(int ranks, std::int64_t most_bytes) {
  std::vector<CollectivePoint> points;
  const auto add = [&](int taking_part, int stride) {
    for (std::int64_t bytes = 65536; bytes <= most_bytes; bytes *= 32) {
      points.push_back({.kind = Collective::send_recv,
                        .group = 2,
                        .ranks = taking_part,
                        .bytes = bytes,
                        .stride = stride,
                        .messages = Messages::both_ways});
    }
  };
  if (ranks < 2) return points;
  add(2, 1);
  for (int stride = 1; 2 * stride <= ranks && ranks > 3; stride *= 2)
    add(ranks / (2 * stride) * 2 * stride, stride);
  return points;
}

std::vector<CollectivePoint> odd_group_points(int ranks, std::int64_t most_bytes) {
  std::vector<CollectivePoint> points;
  for (int group = 3; group <= std::min(ranks, 6); group *= 2) {
    for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter,
                                  Collective::all_reduce, Collective::all_to_all}) {
      for (std::int64_t bytes = 65536; bytes <= most_bytes; bytes *= 32)
        points.push_back({.kind = kind, .group = group, .ranks = group, .bytes = bytes});
    }
  }
  return points;
}

std::string judged_as(const CollectivePoint& p) {
  if (p.rows != RowShares::even) return "uneven rows";
  if (p.type != DType::fp32) return "bf16";
  if (p.messages != Messages::ping_pong) return p.ranks > p.group ? "pairs both ways" : "both ways";
  if (p.bytes < kLeastFitted) return "below 1 KB";
  return std::has_single_bit(static_cast<unsigned>(p.group)) ? "" : "3 or 6 ranks";
}

}  // namespace pleat
