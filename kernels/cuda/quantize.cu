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

struct LargestOfHistory {
  const float* history;
  float* amax;
  std::int64_t length, groups;
  __device__ void operator()(std::int64_t group) const {
    float most = 0;
    for (std::int64_t i = 0; i < length; ++i)
      most = fmaxf(most, history[i * groups + group]);
    amax[group] = most;
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

// Codes and scales of x, whose blocks are described in t.
void quantize_described(Resources& r, RowSource x, View counts, View y, const BlockTable& t,
                        const Quantization& q) {
  const bool delayed = q.past_amax != nullptr;
  PLEAT_ASSERT(!delayed || (t.whole_groups && q.rule != ScaleRule::nvfp4));
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

}  // namespace

void quantize_rows(Resources& r, RowSource x, View counts, View y, const Quantization& q,
                   View like) {
  PLEAT_ASSERT(x.rows() == y.rows && x.cols() == y.cols && x.x.scales == nullptr);
  PLEAT_ASSERT((q.format == pleat::SmallFloat::e2m1) == (y.dtype == DType::nvfp4));
  const bool two = like.data != nullptr;
  PLEAT_ASSERT(!two || (like.elements() == y.elements() && like.scales != y.scales));
  // Else y's scales of the call before would have two users, and y would take other memory.
  if (two) like.scales->on_device.reset();
  const BlockTable t = describe_blocks(r, counts, y, q);
  if (two) *like.scales = *y.scales;
  auto *const codes = static_cast<std::uint8_t*>(y.data),
       *const second = static_cast<std::uint8_t*>(like.data);
  if (quantize_groups(r, x, t, q, codes, second)) return;
  quantize_described(r, x, counts, y, t, q);
  if (!two || y.elements() == 0) return;
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(second, codes, static_cast<std::size_t>(y.elements()),
                                   cudaMemcpyDeviceToDevice, native(r)));
}

}  // namespace cuda

void CudaKernels::largest_of_history(View history, View amax) {
  PLEAT_ASSERT(history.cols == amax.elements() && history.rows > 0);
  cuda::for_each(*resources_, history.cols,
                 cuda::LargestOfHistory{history.f32(), amax.f32(), history.rows, history.cols});
}

void CudaKernels::quantize(View x, View counts, View y, const Quantization& q) {
  cuda::quantize_rows(*resources_, cuda::stored(x), counts, y, q);
}

}  // namespace pleat
