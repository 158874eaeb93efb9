// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/quantize.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat::cpu {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr std::uint16_t kSigns = 0x9a35;  // of the rows of 16: bit i set where row i changes sign

// visit(first row, rows) of every group.
template <class Visit>
void for_each_group(std::int64_t rows, View counts, Visit visit) {
  if (counts.data == nullptr) return visit(std::int64_t{0}, rows);
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < counts.elements(); ++g) {
    visit(first, std::int64_t{counts.i32()[g]});
    first += counts.i32()[g];
  }
  PLEAT_ASSERT(first == rows);
}

// visit(block, first column, columns) of every block that a row crosses.
template <class Visit>
void for_each_block(std::int64_t cols, std::int64_t width, Visit visit) {
  for (std::int64_t block = 0, col = 0; col < cols; ++block, col += width) {
    visit(block, col, std::min(width, cols - col));
  }
}

// NaN is passed over: it stays NaN whatever the scale is.
float amax_of(const float* x, std::int64_t n, float amax) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float size = std::fabs(x[i]);
    amax = size > amax ? size : amax;
  }
  return amax;
}

float power_of_two_below(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7f800000U);
}

// From x to codes, and back.
struct Factors {
  float encode = 1, decode = 1;
};

// What makes `most` of amax; 1 where there is no such number.
float factor_of(float amax, float most) {
  if (amax == 0 || !std::isfinite(amax)) return 1;
  return std::min(most / amax, kMax);
}

Factors factors_of(float amax, float group, const Quantization& q) {
  const float most = largest(q.format);
  switch (q.rule) {
    case ScaleRule::amax: {
      const float up = factor_of(amax, most);
      return {up, 1 / up};
    }
    case ScaleRule::power_of_two: {
      const float up = power_of_two_below(factor_of(amax, most));
      return {up, 1 / up};
    }
    case ScaleRule::e8m0: {
      const std::uint8_t code = encode_e8m0(amax * (1 / most));
      return {std::ldexp(1.0F, 127 - code), decode_e8m0(code)};
    }
    case ScaleRule::nvfp4: {  // `group` brings the group's amax to 448 * 6
      const float scale =
          decode(SmallFloat::e4m3, encode(SmallFloat::e4m3, amax * (1 / most) * group));
      return {std::min(group / scale, kMax), scale};
    }
  }
  return {};
}

void put(View y, SmallFloat format, std::int64_t i, std::uint8_t code) {
  auto* bytes = static_cast<std::uint8_t*>(y.data);
  if (format != SmallFloat::e2m1) {
    bytes[i] = code;
    return;
  }
  std::uint8_t& pair = bytes[i / 2];  // the first of two is in the lower half
  pair = static_cast<std::uint8_t>(i % 2 == 0 ? (pair & 0xf0) | code : (pair & 0x0f) | code << 4);
}

// Of element i: four consecutive ones share a counter.
class RandomBits {
 public:
  explicit RandomBits(PhiloxKey key) : key_(key) {}
  std::uint32_t of(std::int64_t i) {
    if (i / 4 != counter_) {
      counter_ = i / 4;
      const auto n = static_cast<std::uint64_t>(counter_);
      four_ =
          philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32U), 0, 0}, key_);
    }
    return four_[static_cast<std::size_t>(i % 4)];
  }

 private:
  PhiloxKey key_;
  std::int64_t counter_ = -1;
  PhiloxCounter four_ = {};
};

void encode_some(const float* x, View y, std::int64_t first, std::int64_t n, float factor,
                 const Quantization& q, RandomBits& random) {
  for (std::int64_t i = first; i < first + n; ++i) {
    const float value = x[i] * factor;
    put(y, q.format, i,
        q.stochastic ? encode_stochastic(q.format, value, random.of(i)) : encode(q.format, value));
  }
}

}  // namespace

void quantize(const float* x, View counts, View y, const Quantization& q) {
  PLEAT_ASSERT(y.scales != nullptr);
  PLEAT_ASSERT((q.format == SmallFloat::e2m1) == (y.dtype == DType::nvfp4));
  BlockScales& s = *y.scales;
  s.format = q.format;
  s.block_cols = q.block_cols > 0 ? q.block_cols : std::max<std::int64_t>(1, y.cols);
  s.blocks_in_row = (y.cols + s.block_cols - 1) / s.block_cols;
  s.block_of_row.assign(static_cast<std::size_t>(y.rows), 0);
  s.scales.clear();
  s.group_scales.clear();
  const auto blocks = static_cast<std::size_t>(s.blocks_in_row);
  std::vector<float> factors(blocks);  // of a strip of blocks: first their amax
  RandomBits random(q.key);
  for_each_group(y.rows, counts, [&](std::int64_t first, std::int64_t rows) {
    float group = 1;
    if (q.rule == ScaleRule::nvfp4) {
      group = factor_of(amax_of(x + first * y.cols, rows * y.cols, 0),
                        largest(SmallFloat::e4m3) * largest(q.format));
    }
    const std::int64_t height = q.block_rows > 0 ? q.block_rows : rows;
    for (std::int64_t row = first; row < first + rows; row += height) {
      const std::int64_t end = std::min(row + height, first + rows);
      std::fill(s.block_of_row.begin() + row, s.block_of_row.begin() + end,
                static_cast<std::int32_t>(s.group_scales.size()));
      s.group_scales.push_back(1 / group);
      std::fill(factors.begin(), factors.end(), 0.0F);
      for (std::int64_t r = row; r < end; ++r) {
        for_each_block(y.cols, s.block_cols, [&](std::int64_t b, std::int64_t c, std::int64_t n) {
          float& amax = factors[static_cast<std::size_t>(b)];
          amax = amax_of(x + r * y.cols + c, n, amax);
        });
      }
      for (float& amax : factors) {
        const Factors f = factors_of(amax, group, q);
        s.scales.push_back(f.decode);
        amax = f.encode;
      }
      for (std::int64_t r = row; r < end; ++r) {
        for_each_block(y.cols, s.block_cols, [&](std::int64_t b, std::int64_t c, std::int64_t n) {
          encode_some(x, y, r * y.cols + c, n, factors[static_cast<std::size_t>(b)], q, random);
        });
      }
    }
  });
}

void dequantize(View y, float* x) {
  PLEAT_ASSERT(y.scales != nullptr && std::ssize(y.scales->block_of_row) >= y.rows);
  const BlockScales& s = *y.scales;
  float values[256];
  for (unsigned code = 0; code < 256; ++code) {
    values[code] = decode(s.format, static_cast<std::uint8_t>(code));
  }
  const bool bytes = s.format != SmallFloat::e2m1;
  const auto* codes = static_cast<const std::uint8_t*>(y.data);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const std::int64_t block = s.block_of_row[static_cast<std::size_t>(r)];
    const float group = s.group_scales[static_cast<std::size_t>(block)];
    const float* scales = s.scales.data() + block * s.blocks_in_row;
    for_each_block(y.cols, s.block_cols, [&](std::int64_t b, std::int64_t c, std::int64_t n) {
      const float scale = scales[b];
      const std::int64_t first = r * y.cols + c, end = first + n;
      for (std::int64_t i = first; bytes && i < end; ++i) x[i] = values[codes[i]] * scale * group;
      for (std::int64_t i = first; !bytes && i < end; ++i) {
        const unsigned code = i % 2 == 0 ? codes[i / 2] & 15U : codes[i / 2] >> 4U;
        x[i] = values[code] * scale * group;
      }
    });
  }
}

void hadamard(float* x, std::int64_t rows, std::int64_t cols, View counts) {
  for_each_group(rows, counts, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t end = first + count;
    while (first < end) {
      const std::int64_t size = std::min<std::int64_t>(
          16, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(end - first))));
      const float norm = 1 / std::sqrt(static_cast<float>(size));
      for (std::int64_t c = 0; c < cols; ++c) {
        float v[16];
        for (std::int64_t i = 0; i < size; ++i) {
          const float value = x[(first + i) * cols + c];
          v[i] = (kSigns >> i & 1) != 0 ? -value : value;
        }
        for (std::int64_t half = 1; half < size; half *= 2) {
          for (std::int64_t i = 0; i < size; i += 2 * half) {
            for (std::int64_t j = i; j < i + half; ++j) {
              const float a = v[j], b = v[j + half];
              v[j] = a + b;
              v[j + half] = a - b;
            }
          }
        }
        for (std::int64_t i = 0; i < size; ++i) x[(first + i) * cols + c] = v[i] * norm;
      }
      first += size;
    }
  });
}

}  // namespace pleat::cpu
