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

// encode() without branches, so that a compiler can vectorise it.
template <SmallFloat type>
std::uint8_t nearest(float x) {
  constexpr std::uint32_t kMantissa = type == SmallFloat::e4m3   ? 3
                                      : type == SmallFloat::e5m2 ? 2
                                                                 : 1;
  constexpr std::uint32_t kLeast = type == SmallFloat::e4m3   ? 127 - 6  // of normal numbers
                                   : type == SmallFloat::e5m2 ? 127 - 14
                                                              : 127;
  constexpr std::uint32_t kLargest = type == SmallFloat::e4m3   ? 0x7e
                                     : type == SmallFloat::e5m2 ? 0x7b
                                                                : 7;
  constexpr float kLargestValue = type == SmallFloat::e4m3   ? 448.0F
                                  : type == SmallFloat::e5m2 ? 57344.0F
                                                             : 6.0F;
  constexpr std::uint32_t kNan = type == SmallFloat::e2m1 ? 7 : 0x7f, kDropped = 23 - kMantissa;
  constexpr std::uint32_t kUnit = (kLeast + kDropped)
                                  << 23U;  // adding it rounds to subnormal steps
  const auto bits = std::bit_cast<std::uint32_t>(x), size = bits & 0x7fffffffU;
  const float magnitude = std::bit_cast<float>(size);
  const std::uint32_t up = (1U << (kDropped - 1U)) - 1U + ((size >> kDropped) & 1U);
  const std::uint32_t normal = ((size + up) >> kDropped) - ((kLeast - 1U) << kMantissa);
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(magnitude + std::bit_cast<float>(kUnit)) - kUnit;
  std::uint32_t code = size < kLeast << 23U ? subnormal : normal;
  code = magnitude >= kLargestValue ? kLargest : code;
  code |= (bits >> 31U) << (type == SmallFloat::e2m1 ? 3U : 7U);
  return static_cast<std::uint8_t>(size > 0x7f800000U ? kNan : code);
}

template <SmallFloat type>
void nearest_of(const float* x, std::int64_t n, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) codes[i] = nearest<type>(x[i]);
}

// Elements [first, first + n) of y, scaled already.
void encode_row(const float* x, View y, std::int64_t first, std::int64_t n, const Quantization& q,
                RandomBits& random) {
  constexpr std::int64_t kAtATime = 256;
  std::uint8_t codes[kAtATime];
  auto* bytes = static_cast<std::uint8_t*>(y.data);
  for (std::int64_t done = 0; done < n; done += kAtATime) {
    const std::int64_t some = std::min(kAtATime, n - done), at = first + done;
    if (q.stochastic) {
      for (std::int64_t i = 0; i < some; ++i) {
        codes[i] = encode_stochastic(q.format, x[done + i], random.of(at + i));
      }
    } else if (q.format == SmallFloat::e4m3) {
      nearest_of<SmallFloat::e4m3>(x + done, some, codes);
    } else if (q.format == SmallFloat::e5m2) {
      nearest_of<SmallFloat::e5m2>(x + done, some, codes);
    } else {
      nearest_of<SmallFloat::e2m1>(x + done, some, codes);
    }
    if (q.format != SmallFloat::e2m1) {
      std::copy_n(codes, some, bytes + at);
      continue;
    }
    for (std::int64_t i = 0; i < some; ++i) {  // the first of two is in the lower half
      std::uint8_t& pair = bytes[(at + i) / 2];
      const bool upper = (at + i) % 2 == 1;
      pair = static_cast<std::uint8_t>(upper ? (pair & 0x0f) | codes[i] << 4
                                             : (pair & 0xf0) | codes[i]);
    }
  }
}

}  // namespace

void quantize(const float* x, View counts, View y, const Quantization& q) {
  PLEAT_ASSERT(y.scales != nullptr);
  PLEAT_ASSERT((q.format == SmallFloat::e2m1) == (y.dtype == DType::nvfp4));
  BlockScales& s = *y.scales;
  s.format = q.format;
  s.rule = q.rule;
  s.block_cols = q.block_cols > 0 ? q.block_cols : std::max<std::int64_t>(1, y.cols);
  s.blocks_in_row = (y.cols + s.block_cols - 1) / s.block_cols;
  s.block_of_row.assign(static_cast<std::size_t>(y.rows), 0);
  s.scales.clear();
  s.group_scales.clear();
  const auto blocks = static_cast<std::size_t>(s.blocks_in_row);
  std::vector<float> factors(blocks);  // of a strip of blocks: first their amax
  std::vector<float> scaled(static_cast<std::size_t>(y.cols));  // a row
  RandomBits random(q.key);
  PLEAT_ASSERT(q.past_amax == nullptr || (q.block_rows == 0 && s.blocks_in_row <= 1));
  std::int64_t number = -1;
  for_each_group(y.rows, counts, [&](std::int64_t first, std::int64_t rows) {
    ++number;
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
      if (q.past_amax != nullptr && blocks > 0) {
        float& seen = q.seen_amax[number];
        seen = std::max(seen, factors[0]);
        factors[0] = q.past_amax[number];
      }
      for (float& amax : factors) {
        const Factors f = factors_of(amax, group, q);
        s.scales.push_back(f.decode);
        amax = f.encode;
      }
      for (std::int64_t r = row; r < end; ++r) {
        const float* from = x + r * y.cols;
        for_each_block(y.cols, s.block_cols, [&](std::int64_t b, std::int64_t c, std::int64_t n) {
          const float factor = factors[static_cast<std::size_t>(b)];
          for (std::int64_t i = c; i < c + n; ++i)
            scaled[static_cast<std::size_t>(i)] = from[i] * factor;
        });
        encode_row(scaled.data(), y, r * y.cols, y.cols, q, random);
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
