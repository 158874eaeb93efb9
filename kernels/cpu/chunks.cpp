// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an all-to-all delivers, in (source, expert) order, and what peers gather of it, to the
// (expert, source) order that a grouped product wants, and back.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
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
