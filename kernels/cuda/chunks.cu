// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an all-to-all delivers, in (peer, source, expert) order, to the (expert, peer, source) order
// that a grouped product wants, and back. Bound: memory, every row read and written.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_copy.cuh"
#include "kernels/cuda/tile_scheduler.cuh"

namespace pleat {
namespace {

using namespace cuda;

// Chunks in expert order; chunk c is expert c / ranks, place c % ranks in (peer, source) order.
struct Chunks {
  const std::int32_t* all_counts;  // [ranks, experts]
  std::int64_t ranks, experts, peers, first, local;
  int *by_expert = nullptr,
      *by_source = nullptr;  // first rows of the chunks; by_source in (place, expert) order
  int* total = nullptr;
  [[nodiscard]] std::int64_t count() const { return ranks * local; }
  __device__ int rows(std::int64_t expert, std::int64_t place) const {
    const std::int64_t sources = ranks / peers;
    const std::int64_t rank = place % sources * peers + place / sources;
    return all_counts[rank * experts + first + expert];
  }
};

__global__ void __launch_bounds__(kScanThreads) chunk_rows_kernel(Chunks c) {
  const std::int64_t n = c.ranks * c.local;
  const int all = block_scan(
      n, [=](std::int64_t i) { return c.rows(i / c.ranks, i % c.ranks); },
      [=](std::int64_t i, int sum) { c.by_expert[i] = sum; });
  block_scan(
      n, [=](std::int64_t i) { return c.rows(i % c.local, i / c.local); },
      [=](std::int64_t i, int sum) { c.by_source[i] = sum; });
  if (threadIdx.x == 0) *c.total = all;
}

// Where each row in expert order is in source order.
struct RowSources {
  Chunks c;
  int* source;
  __device__ void operator()(std::int64_t row) const {
    if (row >= *c.total) {
      source[row] = -1;
      return;
    }
    const std::int64_t chunk = group_of_row(c.by_expert, c.ranks * c.local, row);
    const std::int64_t expert = chunk / c.ranks, place = chunk % c.ranks;
    source[row] =
        c.by_source[place * c.local + expert] + static_cast<int>(row - c.by_expert[chunk]);
  }
};

template <class U>
struct MoveRows {
  const U* from;
  U* to;
  const int* source;
  std::int64_t units;
  bool sort;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t row, unit;
    split(i, units, row, unit);
    if (source[row] < 0) return;
    const std::int64_t other = source[row] * units + unit;
    if (sort) {
      to[i] = from[other];
    } else {
      to[other] = from[i];
    }
  }
};

void move(Resources& r, View from, View to, View all_counts, const ChunkShape& s, bool sort) {
  PLEAT_ASSERT(from.rows == to.rows && from.cols == to.cols && from.rows <= INT32_MAX);
  PLEAT_ASSERT(all_counts.rows % s.peers == 0 && s.first_expert >= 0);
  PLEAT_ASSERT(s.first_expert + s.local <= all_counts.cols);
  if (from.elements() == 0 || s.local == 0) return;
  Chunks c{.all_counts = all_counts.i32(),
           .ranks = all_counts.rows,
           .experts = all_counts.cols,
           .peers = s.peers,
           .first = s.first_expert,
           .local = s.local};
  Scratch scratch(r, 2 * Scratch::bytes<int>(c.count()) + Scratch::bytes<int>(1) +
                         Scratch::bytes<int>(from.rows));
  c.by_expert = scratch.take<int>(c.count());
  c.by_source = scratch.take<int>(c.count());
  c.total = scratch.take<int>(1);
  int* source = scratch.take<int>(from.rows);
  launch(r, chunk_rows_kernel, 1, kScanThreads, 0, c);
  for_each(r, from.rows, RowSources{c, source});
  by_row_unit([&](auto tag, std::int64_t width) {
    using U = typename decltype(tag)::type;
    for_each(r, from.rows * width,
             MoveRows<U>{units<U>(from), units<U>(to), source, width, sort});
  }, from, to);
}

struct SumRanks {
  const std::int32_t* all_counts;
  std::int32_t* counts;
  std::int64_t ranks, experts, first;
  __device__ void operator()(std::int64_t e) const {
    std::int32_t sum = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) sum += all_counts[rank * experts + first + e];
    counts[e] = sum;
  }
};

}  // namespace

void CudaKernels::sort_chunks(View x, View all_counts, const ChunkShape& shape, View y) {
  move(*resources_, x, y, all_counts, shape, true);
}

void CudaKernels::unsort_chunks(View y, View all_counts, const ChunkShape& shape, View x) {
  move(*resources_, y, x, all_counts, shape, false);
}

void CudaKernels::local_counts(View all_counts, std::int64_t first_expert, std::int64_t local,
                               View counts) {
  PLEAT_ASSERT(first_expert + local <= all_counts.cols && counts.elements() == local);
  for_each(*resources_, local,
           SumRanks{all_counts.i32(), counts.i32(), all_counts.rows, all_counts.cols,
                    first_expert});
}

}  // namespace pleat
