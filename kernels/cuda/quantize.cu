// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantising of any blocks: the amax of every block, factors, codes. Bound: memory, x is read
// twice.
#include "core/numerics/small_float.hpp"
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_source.cuh"

namespace pleat {
namespace cuda {
namespace {

constexpr int kRun = 32;  // rows a thread goes through

__device__ __forceinline__ std::uint32_t size_bits(float x) {
  const std::uint32_t bits = __float_as_uint(x) & 0x7fffffffu;
  return bits > 0x7f800000u ? 0 : bits;
}

// A thread has kColumns columns, which are in one block, of kRun rows.
template <class Source, int kColumns>
__global__ void __launch_bounds__(kThreads)
    block_maxima_kernel(Source from, std::int64_t rows, std::int64_t cols, BlockMaxima m) {
  constexpr std::int64_t kWidth = std::int64_t{kThreads} * kColumns;
  const std::int64_t column_tiles = (cols + kWidth - 1) / kWidth;
  const std::int64_t first = blockIdx.x / column_tiles * kRun;
  std::int64_t col = (blockIdx.x % column_tiles * kThreads + threadIdx.x) * kColumns;
  const bool there = col < cols;
  if (!there) col = 0;  // its lanes go along
  if (m.limit != nullptr) rows = min(rows, static_cast<std::int64_t>(*m.limit));
  const std::int64_t in_row = col / m.block_cols;
  std::int64_t block = -1;
  std::uint32_t most = 0;
  const auto flush = [&] {  // by all lanes at once: rows are the same for all
    if (block < 0) return;
    const auto place = static_cast<std::uint32_t>(there ? in_row : -1);
    const std::uint32_t least = __reduce_min_sync(kAllLanes, place);
    if (least == __reduce_max_sync(kAllLanes, place) && there) {
      const std::uint32_t all = __reduce_max_sync(kAllLanes, most);
      if (threadIdx.x % kWarp == 0 && all != 0) {
        atomicMax(m.to + block * m.blocks_in_row + in_row, all);
      }
    } else if (there && most != 0) {
      atomicMax(m.to + block * m.blocks_in_row + in_row, most);
    }
    most = 0;
  };
  for (std::int64_t row = first; row < min(first + kRun, rows); ++row) {
    const std::int64_t now = m.block_of_row[row];
    if (now != block) {
      flush();
      block = now;
    }
    if constexpr (kColumns == kPack) {
      float x[kPack];
      from.load(row * cols + col, there ? cols - col : 0, x);
#pragma unroll
      for (int i = 0; i < kPack; ++i) most = max(most, size_bits(x[i]));
    } else if (there) {
      most = max(most, size_bits(from.get(row * cols + col)));
    }
  }
  flush();
}

struct LargestOfHistory {
  const float* history;
  float* amax;
  std::int64_t length;
  __device__ void operator()(std::int64_t row, int lane) const {
    float most = 0;
    for (std::int64_t i = lane; i < length; i += kWarp)
      most = fmaxf(most, history[row * length + i]);
    most = warp_max(most);
    if (lane == 0) amax[row] = most;
  }
};

// Delayed scaling: blocks are groups, and their amax is that of before.
struct TakePast {
  BlockTable t;
  const float* past;
  float* amax;
  __device__ void operator()(std::int64_t block) const {
    if (block < *t.blocks) amax[block] = past[t.group_of[block]];
  }
};

// Scales of every block. Before: its amax; after: encode[i] is what x is multiplied with.
struct Factors {
  BlockTable t;
  const std::uint32_t* group_amax;  // NVFP4's
  float* amax_and_encode;
  float most;
  ScaleRule rule;
  __device__ float group_of(std::int64_t block) const {
    if (rule != ScaleRule::nvfp4) return 1.0f;
    return factor_of(__uint_as_float(group_amax[t.group_of[block]]), 448.0f * most);
  }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t block = i / t.blocks_in_row;
    if (block >= *t.blocks) return;
    const ScaleFactors f = factors_of(amax_and_encode[i], group_of(block), most, rule);
    t.scales[i] = f.decode;
    amax_and_encode[i] = f.encode;
  }
};

struct GroupFactors {
  Factors f;
  __device__ void operator()(std::int64_t block) const {
    if (block < *f.t.blocks) f.t.group_scales[block] = 1.0f / f.group_of(block);
  }
};

template <class Source, pleat::SmallFloat type>
struct Encode {
  Source x;
  BlockTable t;
  const float* encode;
  std::uint8_t* codes;
  bool stochastic, aligned;
  std::uint32_t key0, key1;
  std::uint32_t* seen;  // of every group, or null

  __device__ float factor(std::int64_t row, std::int64_t col) const {
    return encode[t.block_of_row[row] * t.blocks_in_row + col / t.block_cols];
  }
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float v[kPack];
    x.load(at, count, v);
    std::int64_t row, col;
    split(at, t.cols, row, col);
    if (seen != nullptr) note(row, col, count, v);
    if (t.cols % kPack == 0 && t.block_cols % kPack == 0) {
      const float f = factor(row, col);
#pragma unroll
      for (int i = 0; i < kPack; ++i) v[i] = __fmul_rn(v[i], f);
    } else {
      for (int i = 0; i < kPack && i < count; ++i) {
        v[i] = __fmul_rn(v[i], factor(row, col));
        if (++col == t.cols) {
          col = 0;
          ++row;
        }
      }
    }
    std::uint32_t code[kPack];
    if (stochastic) {
#pragma unroll
      for (int four = 0; four < kPack; four += 4) {
        const uint4 r = random_words(static_cast<std::uint64_t>(at + four) / 4, key0, key1);
        const std::uint32_t words[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) code[four + i] = encode_random<type>(v[four + i], words[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPack; i += 2) {
        const std::uint32_t two = encode_two<type>(v[i], v[i + 1]);
        code[i] = two & 255u;
        code[i + 1] = two >> 8;
      }
    }
    store(at, count, code);
  }

 private:
  // Most packs find a larger number there already.
  __device__ void note(std::int64_t row, std::int64_t col, std::int64_t count,
                       const float (&v)[kPack]) const {
    for (int i = 0; i < kPack && i < count;) {
      std::uint32_t most = 0;
      std::uint32_t* const to = seen + t.group_of[t.block_of_row[row]];
      for (; i < kPack && i < count && col < t.cols; ++i, ++col) most = max(most, size_bits(v[i]));
      if (most > *static_cast<volatile const std::uint32_t*>(to)) atomicMax(to, most);
      ++row;
      col = 0;
    }
  }
  __device__ void store(std::int64_t at, std::int64_t count,
                        const std::uint32_t (&code)[kPack]) const {
    if constexpr (type == pleat::SmallFloat::e2m1) {  // the first of two is in the lower half
#pragma unroll
      for (int i = 0; i < kPack; i += 2) {
        std::uint8_t* const to = codes + (at + i) / 2;
        if (i + 1 < count) *to = static_cast<std::uint8_t>(code[i] | code[i + 1] << 4);
        if (i + 1 == count) *to = static_cast<std::uint8_t>((*to & 0xf0u) | code[i]);
      }
    } else if (aligned && count >= kPack) {
      uint2 all{0, 0};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        all.x |= code[i] << 8 * i;
        all.y |= code[4 + i] << 8 * i;
      }
      *reinterpret_cast<uint2*>(codes + at) = all;
    } else {
      for (int i = 0; i < kPack && i < count; ++i)
        codes[at + i] = static_cast<std::uint8_t>(code[i]);
    }
  }
};

}  // namespace

void block_maxima(const Resources& r, const RowSource& from, const BlockMaxima& m) {
  const std::int64_t all = m.blocks * m.blocks_in_row;
  if (all == 0) return;
  r.device().make_current();
  PLEAT_CUDA_CHECK(
      cudaMemsetAsync(m.to, 0, static_cast<std::size_t>(all) * sizeof *m.to, native(r)));
  if (from.elements() == 0) return;
  const std::int64_t rows = from.rows(), cols = from.cols(), runs = ceil_div(rows, kRun);
  // The last block of a row may be narrower: a pack that is in one block is in no other's columns.
  const bool packs = m.block_cols % kPack == 0 || m.block_cols >= cols;
  const std::int64_t tiles = ceil_div(cols, std::int64_t{kThreads} * (packs ? kPack : 1));
  by_source(
      [&](auto x) {
        using Source = decltype(x);
        const auto kernel =
            packs ? block_maxima_kernel<Source, kPack> : block_maxima_kernel<Source, 1>;
        launch(r, kernel, blocks_of(runs * tiles), kThreads, 0, x, rows, cols, m);
      },
      from);
}

void quantize_rows(Resources& r, RowSource x, View counts, View y, const Quantization& q) {
  PLEAT_ASSERT(x.rows() == y.rows && x.cols() == y.cols && x.x.scales == nullptr);
  PLEAT_ASSERT((q.format == pleat::SmallFloat::e2m1) == (y.dtype == DType::nvfp4));
  const BlockTable t = describe_blocks(r, counts, y, q);
  const std::int64_t groups = counts.data == nullptr ? 1 : counts.elements();
  const std::int64_t scales = t.most_blocks * t.blocks_in_row;
  Scratch scratch(r, Scratch::bytes<float>(scales) + Scratch::bytes<std::uint32_t>(groups) +
                         Scratch::bytes<std::int32_t>(groups + 1) +
                         (q.hadamard ? Scratch::bytes<float>(x.elements()) : 0));
  auto* const factors = scratch.take<float>(scales);
  auto* const group_amax = scratch.take<std::uint32_t>(groups);
  auto* const first = scratch.take<std::int32_t>(groups + 1);
  if (q.hadamard) {
    auto* const turned = scratch.take<float>(x.elements());
    first_rows(r, counts, x.rows(), first);
    hadamard(r, x, first, groups, turned);
    x = stored({turned, DType::fp32, x.rows(), x.cols()});
  }
  const bool delayed = q.past_amax != nullptr;
  PLEAT_ASSERT(!delayed || (t.whole_groups && q.rule != ScaleRule::nvfp4));
  if (!delayed && quantize_blocks(r, x, y, t, q)) return;
  if (delayed) {
    for_each(r, t.most_blocks, TakePast{t, q.past_amax, factors});
  } else {
    block_maxima(r, x,
                 {.block_of_row = t.block_of_row,
                  .block_cols = t.block_cols,
                  .blocks_in_row = t.blocks_in_row,
                  .blocks = t.most_blocks,
                  .to = reinterpret_cast<std::uint32_t*>(factors)});
  }
  if (q.rule == ScaleRule::nvfp4) {
    block_maxima(r, stored({factors, DType::fp32, t.most_blocks, t.blocks_in_row}),
                 {.block_of_row = t.group_of,
                  .block_cols = std::max<std::int64_t>(1, t.blocks_in_row),
                  .blocks = groups,
                  .limit = t.blocks,
                  .to = group_amax});
  }
  const Factors f{t, group_amax, factors, largest(q.format), q.rule};
  for_each(r, t.most_blocks, GroupFactors{f});
  for_each(r, scales, f);
  by_source(
      [&](auto source) {
        by_format(q.format, [&](auto format) {
          const bool aligned = reinterpret_cast<std::uintptr_t>(y.data) % 8 == 0;
          for_packs(r, x.elements(),
                    Encode<decltype(source), decltype(format)::value>{
                        source, t, factors, static_cast<std::uint8_t*>(y.data), q.stochastic,
                        aligned, q.key[0], q.key[1],
                        delayed ? reinterpret_cast<std::uint32_t*>(q.seen_amax) : nullptr});
        });
      },
      x, true);
}

}  // namespace cuda

void CudaKernels::largest_of_history(View history, View amax) {
  PLEAT_ASSERT(history.rows == amax.elements() && history.cols > 0);
  cuda::for_rows<cuda::kWarp>(*resources_, history.rows,
                              cuda::LargestOfHistory{history.f32(), amax.f32(), history.cols});
}

void CudaKernels::quantize(View x, View counts, View y, const Quantization& q) {
  cuda::quantize_rows(*resources_, cuda::stored(x), counts, y, q);
}

}  // namespace pleat
