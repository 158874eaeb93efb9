// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What codes stand for: code * scale * group scale, each product rounded. Bound: memory.
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/quantize.hpp"

namespace pleat::cuda {
namespace {

template <class T, pleat::SmallFloat type>
struct Decode {
  const std::uint8_t* codes;
  BlockTable t;
  Vec<T> to;
  bool scaled;

  __device__ float code(std::int64_t at) const {
    if constexpr (type == pleat::SmallFloat::e2m1) {
      const std::uint32_t two = codes[at / 2];
      return decode_code<type>(at % 2 == 0 ? two & 15u : two >> 4);
    } else {
      return decode_code<type>(codes[at]);
    }
  }
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    const std::int64_t block = t.block_of_row[row], at = row * t.cols + col;
    const float group = t.group_scales[block];
    const float* const scales = t.scales + block * t.blocks_in_row;
    float v[kPack];
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (i >= count) break;
      v[i] = code(at + i);
      if (scaled) v[i] = __fmul_rn(__fmul_rn(v[i], scales[(col + i) / t.block_cols]), group);
    }
    to.store(v, at, count);
  }
};

}  // namespace

void dequantize(const Resources& r, View from, View to, bool scaled) {
  const BlockTable& t = blocks_of_matrix(from);
  PLEAT_ASSERT(from.rows == t.rows && from.cols == t.cols && to.elements() == from.elements());
  by_type(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        by_format(from.scales->format, [&](auto format) {
          for_row_packs(
              r, from.rows, from.cols,
              Decode<T, decltype(format)::value>{static_cast<const std::uint8_t*>(from.data), t,
                                                 vec<T>(to, from.cols), scaled});
        });
      },
      to);
}

}  // namespace pleat::cuda
