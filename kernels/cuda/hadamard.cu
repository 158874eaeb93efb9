// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of a group by sixteens, and the powers of two that the rest is made of, times random signs
// and a Hadamard matrix, in kernels/cpu/quantize.cpp's order of sums.
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/row_source.cuh"
#include "kernels/cuda/tile_scheduler.cuh"

namespace pleat::cuda {
namespace {

constexpr std::uint32_t kSigns = 0x9a35;  // bit i set where row i changes sign

template <class Source>
struct Hadamard {
  Source x;
  const std::int32_t* first;
  std::int64_t groups, cols;
  float* to;

  // Rows of the matrix that begins at `row`, or 0 where none does.
  __device__ int begins(std::int64_t row) const {
    const std::int64_t group = group_of_row(first, groups, row);
    const auto offset = static_cast<int>(row - first[group]);
    const int count = first[group + 1] - first[group], whole = count / 16 * 16;
    if (offset < whole) return offset % 16 == 0 ? 16 : 0;
    int at = whole;
    for (int size = 8; size > 0; size /= 2) {
      if ((count & size) == 0) continue;
      if (at == offset) return size;
      at += size;
    }
    return 0;
  }
  template <int size>
  __device__ void turn(std::int64_t row, std::int64_t col) const {
    float v[size];
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float value = x.get((row + i) * cols + col);
      v[i] = (kSigns >> i & 1) != 0 ? -value : value;
    }
#pragma unroll
    for (int half = 1; half < size; half *= 2) {
#pragma unroll
      for (int i = 0; i < size; i += 2 * half) {
#pragma unroll
        for (int j = i; j < i + half; ++j) {
          const float a = v[j], b = v[j + half];
          v[j] = a + b;
          v[j + half] = a - b;
        }
      }
    }
    const float norm = 1.0f / sqrtf(static_cast<float>(size));
#pragma unroll
    for (int i = 0; i < size; ++i) to[(row + i) * cols + col] = __fmul_rn(v[i], norm);
  }
  __device__ void operator()(std::int64_t at) const {
    std::int64_t row, col;
    split(at, cols, row, col);
    switch (begins(row)) {
      case 16:
        return turn<16>(row, col);
      case 8:
        return turn<8>(row, col);
      case 4:
        return turn<4>(row, col);
      case 2:
        return turn<2>(row, col);
      case 1:
        return turn<1>(row, col);
      default:
        return;
    }
  }
};

}  // namespace

void hadamard(const Resources& r, const RowSource& x, const std::int32_t* first,
              std::int64_t groups, float* to) {
  by_source(
      [&](auto source) {
        for_each(r, x.elements(),
                 Hadamard<decltype(source)>{source, first, groups, x.cols(), to});
      },
      x);
}

}  // namespace pleat::cuda
