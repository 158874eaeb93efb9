// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One scale for all rows of a group: a pass for the largest numbers, and one that writes both
// copies of an operand. What a thread block goes through is one piece of memory, in which groups
// only end; it has several packs on their way before it uses the first. Bound: memory, x is read
// twice.
#include "core/numerics/small_float.hpp"
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_source.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kStep = std::int64_t{kThreads} * kPack;  // elements that are loaded at once
constexpr std::int64_t kPiece = 16 * kStep;                     // of a thread block

// Packs that a thread loads before it uses the first.
template <class Source>
constexpr int kAtOnce = std::is_same_v<Source, Vec<Bf16Value>> ? 4
                        : std::is_same_v<Source, Vec<float>>   ? 2
                                                               : 1;

// Packs at, at + kStep, …; those from `end` on are the first once more.
template <class Source>
__device__ __forceinline__ void load_at_once(const Source& from, std::int64_t at, std::int64_t end,
                                             Held<Source> (&packs)[kAtOnce<Source>]) {
#pragma unroll
  for (int i = 0; i < kAtOnce<Source>; ++i) {
    const std::int64_t here = at + i * kStep;
    packs[i].load_wide(from, here < end ? here : at);
  }
}

// f(block, first element, last element + 1) for the blocks of the piece that begins at `begin`.
template <class F>
__device__ __forceinline__ void for_blocks(const BlockTable& t, std::int64_t begin, F f) {
  const std::int64_t end = min(begin + kPiece, t.rows * t.cols);
  std::int64_t row, last_row, col;
  split(begin, t.cols, row, col);
  split(end - 1, t.cols, last_row, col);
  std::int32_t block = t.block_of_row[row];
  const std::int32_t last = t.block_of_row[last_row];
  for (; block < last; ++block) {
    const std::int64_t next = t.first_row[block + 1] * t.cols;
    f(block, begin, next);
    begin = next;
  }
  f(block, begin, end);
}

// The thread block's largest into *to; all threads call it.
__device__ __forceinline__ void raise_to(float most, std::uint32_t* to) {
  __shared__ std::uint32_t of_warps[kThreads / kWarp];
  const std::uint32_t of_warp = __reduce_max_sync(kAllLanes, __float_as_uint(most));
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t all = 0;
#pragma unroll
    for (const std::uint32_t one : of_warps) all = max(all, one);
    // Most find a larger number there already.
    if (all > *static_cast<volatile const std::uint32_t*>(to)) atomicMax(to, all);
  }
  __syncthreads();  // of_warps has been read
}

template <class Source>
__global__ void __launch_bounds__(kThreads)
    group_maxima_kernel(Source from, BlockTable t, std::uint32_t* amax) {
  using Pack = Held<Source>;
  constexpr int kPacks = kAtOnce<Source>;
  for_blocks(t, blockIdx.x * kPiece, [&](int block, std::int64_t first, std::int64_t end) {
    typename Pack::Most most;
    for (std::int64_t at = first + threadIdx.x * kPack; at < end; at += kPacks * kStep) {
      Pack packs[kPacks];
      load_at_once(from, at, end, packs);
#pragma unroll
      for (int i = 0; i < kPacks; ++i) packs[i].raise(most);
    }
    raise_to(largest_of(most), amax + block);
  });
}

// amax: of every block, or of every group where that is of before; what there is now then goes
// into `seen`. second: as codes, or null.
struct GroupCodes {
  BlockTable t;
  const float* amax;
  std::uint32_t* seen;
  std::uint8_t *codes, *second;
  float most_code;
  ScaleRule rule;
};

template <class Source, pleat::SmallFloat type>
__global__ void __launch_bounds__(kThreads) encode_groups_kernel(Source from, GroupCodes g) {
  using Pack = Held<Source>;
  constexpr int kPacks = kAtOnce<Source>;
  // The last piece first: the maxima read it last, and some of it may be in the cache still.
  const std::int64_t piece = gridDim.x - 1 - blockIdx.x;
  for_blocks(g.t, piece * kPiece, [&](int block, std::int64_t first, std::int64_t end) {
    const int amax_at = g.seen == nullptr ? block : g.t.group_of[block];
    const ScaleFactors f = factors_of(g.amax[amax_at], 1.0f, g.most_code, g.rule);
    if (threadIdx.x == 0 && first == g.t.first_row[block] * g.t.cols) {
      g.t.scales[block] = f.decode;
      g.t.group_scales[block] = 1.0f;
    }
    typename Pack::Most most;
    for (std::int64_t at = first + threadIdx.x * kPack; at < end; at += kPacks * kStep) {
      Pack packs[kPacks];
      load_at_once(from, at, end, packs);
#pragma unroll
      for (int i = 0; i < kPacks; ++i) {
        const std::int64_t here = at + i * kStep;
        if (here >= end) break;
        if (g.seen != nullptr) packs[i].raise(most);
        const uint2 all = encode_pack<type>(packs[i], [&](int) { return f.encode; });
        *reinterpret_cast<uint2*>(g.codes + here) = all;
        if (g.second != nullptr) *reinterpret_cast<uint2*>(g.second + here) = all;
      }
    }
    if (g.seen != nullptr) raise_to(largest_of(most), g.seen + amax_at);
  });
}

}  // namespace

bool quantize_groups(Resources& r, const RowSource& x, const BlockTable& t, const Quantization& q,
                     std::uint8_t* codes, std::uint8_t* second) {
  const auto aligned = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 8 == 0; };
  if (!t.whole_groups || q.format == pleat::SmallFloat::e2m1 || q.rule == ScaleRule::nvfp4)
    return false;
  if (q.hadamard || q.stochastic || x.elements() == 0 || x.cols() % kPack != 0) return false;
  if (!aligned(codes) || !aligned(second)) return false;
  if (x.kind == RowSource::Kind::stored && !aligned16(x.x.data)) return false;
  const unsigned pieces = blocks_of(ceil_div(x.elements(), kPiece));
  const bool delayed = q.past_amax != nullptr;
  Scratch scratch(r, Scratch::bytes<std::uint32_t>(t.most_blocks));
  auto* const amax = scratch.take<std::uint32_t>(t.most_blocks);
  GroupCodes g{.t = t,
               .amax = delayed ? q.past_amax : reinterpret_cast<const float*>(amax),
               .seen = delayed ? reinterpret_cast<std::uint32_t*>(q.seen_amax) : nullptr,
               .codes = codes,
               .second = second,
               .most_code = largest(q.format),
               .rule = q.rule};
  if (!delayed) {
    r.device().make_current();
    PLEAT_CUDA_CHECK(cudaMemsetAsync(
        amax, 0, static_cast<std::size_t>(t.most_blocks) * sizeof *amax, native(r)));
    by_source(
        [&](auto source) {
          launch(r, group_maxima_kernel<decltype(source)>, pieces, kThreads, 0, source, t, amax);
        },
        x);
  }
  by_eight_bits(x, q.format, [&](auto source, auto format) {
    launch(r, encode_groups_kernel<decltype(source), decltype(format)::value>, pieces, kThreads, 0,
           source, g);
  });
  return true;
}

}  // namespace pleat::cuda
