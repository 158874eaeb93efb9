// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Token rows in the order of experts, and back: on one rank, and around an all-to-all.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {

// Copies of token rows in expert order, and back: row_map[t*k+j] is the row of copy j of token t,
// -1 where it has none (dropped, or for another rank's experts).

namespace {

constexpr std::int64_t kExpertsAtATime = 1024;  // running offsets held on the stack

std::int64_t copies_per_token(View row_map, std::int64_t tokens) {
  if (tokens == 0) return 0;
  PLEAT_ASSERT(row_map.elements() % tokens == 0);
  return row_map.elements() / tokens;
}

// y[t] += rows of the copies of token t, j ascending.
void add_copies(View px, View row_map, View y) {
  const std::int64_t h = y.cols, k = copies_per_token(row_map, y.rows);
  for (std::int64_t t = 0; t < y.rows; ++t) {
    float* to = y.f32() + t * h;
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t row = row_map.i32()[t * k + j];
      PLEAT_ASSERT(row < px.rows);
      if (row < 0) continue;
      const float* from = px.f32() + row * h;
      for (std::int64_t c = 0; c < h; ++c) to[c] += from[c];
    }
  }
}

}  // namespace

void CpuKernels::permute(View x, View probs, View experts, View counts, std::int64_t first_expert,
                         View px, View pp, View row_map) {
  const std::int64_t copies = experts.elements(), h = x.cols, groups = counts.elements();
  const std::int64_t k = copies_per_token(row_map, x.rows);
  PLEAT_ASSERT(probs.elements() == copies && px.cols == h && px.dtype == x.dtype);
  PLEAT_ASSERT(pp.elements() == px.rows && row_map.elements() == copies);
  std::fill_n(row_map.i32(), copies, -1);
  std::int64_t next[kExpertsAtATime], end[kExpertsAtATime];
  std::int64_t row = 0;
  for (std::int64_t first = 0; first < groups; first += kExpertsAtATime) {
    const std::int64_t some = std::min(kExpertsAtATime, groups - first);
    for (std::int64_t e = 0; e < some; ++e) {
      next[e] = row;
      end[e] = row += counts.i32()[first + e];
    }
    PLEAT_ASSERT(row <= px.rows);
    for (std::int64_t i = 0; i < copies; ++i) {
      const std::int64_t e = experts.i32()[i] - first_expert - first;
      if (experts.i32()[i] < 0 || e < 0 || e >= some) continue;
      const std::int64_t to = next[e]++;
      PLEAT_ASSERT(to < end[e]);
      row_map.i32()[i] = static_cast<std::int32_t>(to);
      pp.f32()[to] = probs.f32()[i];
      std::copy(x.at(i / k * h), x.at((i / k + 1) * h), px.at(to * h));
    }
    for (std::int64_t e = 0; e < some; ++e) {  // what a padded expert has left
      std::fill_n(pp.f32() + next[e], end[e] - next[e], 0.0F);
      std::fill(px.at(next[e] * h), px.at(end[e] * h), std::byte{0});
    }
  }
  PLEAT_ASSERT(row == px.rows);
}

void CpuKernels::permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                             bool accumulate) {
  PLEAT_ASSERT(dpx.cols == dx.cols && dpp.elements() == dpx.rows);
  PLEAT_ASSERT(dprobs.elements() == row_map.elements());
  if (!accumulate) zero(dx);
  add_copies(dpx, row_map, dx);
  for (std::int64_t i = 0; i < row_map.elements(); ++i) {
    const std::int64_t row = row_map.i32()[i];
    dprobs.f32()[i] = row < 0 ? 0.0F : dpp.f32()[row];
  }
}

void CpuKernels::unpermute(View px, View row_map, View y) {
  PLEAT_ASSERT(px.cols == y.cols);
  zero(y);
  add_copies(px, row_map, y);
}

void CpuKernels::unpermute_bwd(View dy, View row_map, View dpx) {
  const std::int64_t h = dy.cols, k = copies_per_token(row_map, dy.rows);
  PLEAT_ASSERT(dpx.cols == h && dpx.dtype == dy.dtype);
  const std::int32_t* rows = row_map.i32();
  const auto copied = std::count_if(rows, rows + row_map.elements(), [](auto r) { return r >= 0; });
  if (copied != dpx.rows) zero(dpx);
  for (std::int64_t i = 0; i < row_map.elements(); ++i) {
    const std::int64_t row = rows[i];
    PLEAT_ASSERT(row < dpx.rows);
    if (row >= 0) std::copy(dy.at(i / k * h), dy.at((i / k + 1) * h), dpx.at(row * h));
  }
}

// What an all-to-all delivers, in (source, expert) order, and what peers gather of it, to the
// (expert, source) order that a grouped product wants, and back.

namespace {

// Calls visit(row by source, row by expert, rows) for every (expert, peer, source) chunk; returns
// all rows.
template <class Visit>
std::int64_t for_each_chunk(View all_counts, const ChunkShape& shape, Visit visit) {
  const std::int64_t sources = all_counts.rows / shape.peers;
  PLEAT_ASSERT(sources * shape.peers == all_counts.rows && shape.first_expert >= 0 &&
               shape.first_expert + shape.local <= all_counts.cols);
  std::int64_t by_expert = 0;
  for (std::int64_t e = 0; e < shape.local; ++e) {
    std::int64_t source_begin = 0;
    for (std::int64_t i = 0; i < all_counts.rows; ++i) {
      const std::int64_t rank = i % sources * shape.peers + i / sources;
      const std::int32_t* sent = all_counts.i32() + rank * all_counts.cols + shape.first_expert;
      std::int64_t before = 0, all = 0;
      for (std::int64_t other = 0; other < shape.local; ++other) {
        if (other < e) before += sent[other];
        all += sent[other];
      }
      visit(source_begin + before, by_expert, std::int64_t{sent[e]});
      by_expert += sent[e];
      source_begin += all;
    }
  }
  return by_expert;
}

}  // namespace

void CpuKernels::sort_chunks(View x, View all_counts, const ChunkShape& shape, View y) {
  PLEAT_ASSERT(x.rows == y.rows && x.cols == y.cols && x.dtype == y.dtype);
  const std::int64_t c = x.cols;
  const std::int64_t rows = for_each_chunk(
      all_counts, shape, [&](std::int64_t by_source, std::int64_t by_expert, std::int64_t count) {
        std::copy_n(x.at(by_source * c), bytes_of(x.dtype, count * c), y.at(by_expert * c));
      });
  PLEAT_ASSERT(rows == x.rows);
}

void CpuKernels::unsort_chunks(View y, View all_counts, const ChunkShape& shape, View x) {
  PLEAT_ASSERT(x.rows == y.rows && x.cols == y.cols && x.dtype == y.dtype);
  const std::int64_t c = x.cols;
  const std::int64_t rows = for_each_chunk(
      all_counts, shape, [&](std::int64_t by_source, std::int64_t by_expert, std::int64_t count) {
        std::copy_n(y.at(by_expert * c), bytes_of(y.dtype, count * c), x.at(by_source * c));
      });
  PLEAT_ASSERT(rows == x.rows);
}

void CpuKernels::local_counts(View all_counts, std::int64_t first_expert, std::int64_t local,
                              View counts) {
  PLEAT_ASSERT(first_expert + local <= all_counts.cols && counts.elements() == local);
  for (std::int64_t e = 0; e < local; ++e) {
    std::int32_t sum = 0;
    for (std::int64_t s = 0; s < all_counts.rows; ++s) {
      sum += all_counts.i32()[s * all_counts.cols + first_expert + e];
    }
    counts.i32()[e] = sum;
  }
}

}  // namespace pleat
