// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Optimizer moments in narrow types: blocks of them to fp32, a step, and back.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

// A float of 1 sign bit, exponent and mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  float largest;  // that blocks are scaled to: no rounding leaves its range
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr SmallFloat kE4M3{4, 3, 448.0F}, kF16{5, 10, 32768.0F};

int exponent_of(float x) {
  return static_cast<int>((std::bit_cast<std::uint32_t>(x) >> 23) & 255) - 127;
}
float power_of_two(int e) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
}

// |x| <= largest. Rounded to nearest even, the smallest numbers to multiples of the smallest one.
unsigned encode(float x, const SmallFloat& t) {
  const unsigned sign = std::signbit(x) ? 1U << (t.exponent_bits + t.mantissa_bits) : 0U;
  const int lowest = 1 - t.bias();
  const int e = std::max(exponent_of(x), lowest);
  const auto units =
      static_cast<unsigned>(std::nearbyint(std::fabs(x) / power_of_two(e - t.mantissa_bits)));
  // Fewer than `full` units have no leading one, twice as many carry into the exponent by
  // themselves.
  const auto full = 1U << t.mantissa_bits;
  return sign | (static_cast<unsigned>(e - lowest) * full + units);
}

float decode(unsigned bits, const SmallFloat& t) {
  const unsigned full = 1U << t.mantissa_bits;
  const unsigned mantissa = bits & (full - 1);
  const int exponent = static_cast<int>((bits >> t.mantissa_bits) & ((1U << t.exponent_bits) - 1));
  const float size =
      exponent == 0 ? static_cast<float>(mantissa) * power_of_two(1 - t.bias() - t.mantissa_bits)
                    : static_cast<float>(mantissa + full) *
                          power_of_two(exponent - t.bias() - t.mantissa_bits);
  return (bits >> (t.exponent_bits + t.mantissa_bits)) != 0 ? -size : size;
}

std::uint16_t to_bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// The least power of two that brings the block's largest element to at most `largest`.
float scale_for(const float* x, std::int64_t n, float largest) {
  float most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
  if (!(most > 0)) return 1;
  int e = std::clamp(exponent_of(most) - exponent_of(largest) - 1, -120, 110);
  while (e < 110 && largest * power_of_two(e) < most) ++e;
  return power_of_two(e);
}

// One block.
void read_block(const Moment& m, std::int64_t first, std::int64_t n, float* out) {
  const auto* bytes = static_cast<const std::uint8_t*>(m.values.data);
  const auto* words = static_cast<const std::uint16_t*>(m.values.data);
  switch (m.values.dtype) {
    case DType::fp32:
      std::memcpy(out, m.values.f32() + first, static_cast<std::size_t>(n) * sizeof(float));
      return;
    case DType::bf16:
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(words[first + i]) << 16);
      }
      return;
    case DType::fp16:
    case DType::fp8: {
      const float scale = m.scales[first / kMomentBlockElements];
      const bool half = m.values.dtype == DType::fp16;
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = scale * (half ? decode(words[first + i], kF16) : decode(bytes[first + i], kE4M3));
      }
      return;
    }
    case DType::mxfp8:
    case DType::nvfp4:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::remainder16:
      break;
  }
  PLEAT_ASSERT(false);
}

void write_block(const float* x, std::int64_t n, const Moment& m, std::int64_t first) {
  auto* bytes = static_cast<std::uint8_t*>(m.values.data);
  auto* words = static_cast<std::uint16_t*>(m.values.data);
  switch (m.values.dtype) {
    case DType::fp32:
      std::memcpy(m.values.f32() + first, x, static_cast<std::size_t>(n) * sizeof(float));
      return;
    case DType::bf16:
      for (std::int64_t i = 0; i < n; ++i) words[first + i] = to_bf16_bits(x[i]);
      return;
    case DType::fp16:
    case DType::fp8: {
      const bool half = m.values.dtype == DType::fp16;
      const float scale = scale_for(x, n, half ? kF16.largest : kE4M3.largest);
      m.scales[first / kMomentBlockElements] = scale;
      const float inverse = 1 / scale;
      for (std::int64_t i = 0; i < n; ++i) {
        const unsigned bits = encode(x[i] * inverse, half ? kF16 : kE4M3);
        if (half) {
          words[first + i] = static_cast<std::uint16_t>(bits);
        } else {
          bytes[first + i] = static_cast<std::uint8_t>(bits);
        }
      }
      return;
    }
    case DType::mxfp8:
    case DType::nvfp4:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::remainder16:
      break;
  }
  PLEAT_ASSERT(false);
}

View slice(View v, std::int64_t first, std::int64_t elements) {
  return {static_cast<std::byte*>(v.data) + bytes_of(v.dtype, first), v.dtype, 1, elements};
}

template <class Visit>
void for_each_block(std::int64_t n, Visit visit) {
  for (std::int64_t at = 0; at < n; at += kMomentBlockElements) {
    visit(at, std::min(kMomentBlockElements, n - at));
  }
}

}  // namespace

void CpuKernels::adamw_narrow(View g, Moment m, Moment v, View w, double grad_scale, const AdamW& a,
                              std::span<const ElementSpan> undecayed) {
  PLEAT_ASSERT(m.values.elements() == w.elements() && v.values.elements() == w.elements());
  AdamW without = a;
  without.weight_decay = 0;
  float mean[kMomentBlockElements], square[kMomentBlockElements];
  auto next = undecayed.begin();
  for_each_block(w.elements(), [&](std::int64_t first, std::int64_t n) {
    read_block(m, first, n, mean);
    read_block(v, first, n, square);
    const std::int64_t end = first + n;
    for (std::int64_t at = first; at < end;) {
      while (next != undecayed.end() && next->first + next->elements <= at) ++next;
      const bool inside = next != undecayed.end() && next->first <= at;
      std::int64_t to = end;
      if (next != undecayed.end()) {
        to = std::min(end, inside ? next->first + next->elements : next->first);
      }
      const std::int64_t elements = to - at, from = at - first;
      adamw(slice(g, at, elements), {mean + from, DType::fp32, 1, elements},
            {square + from, DType::fp32, 1, elements}, slice(w, at, elements), grad_scale,
            inside ? without : a);
      at = to;
    }
    write_block(mean, n, m, first);
    write_block(square, n, v, first);
  });
}

void CpuKernels::read_moment(Moment from, View to) {
  for_each_block(to.elements(), [&](std::int64_t first, std::int64_t n) {
    read_block(from, first, n, to.f32() + first);
  });
}

void CpuKernels::write_moment(View from, Moment to) {
  for_each_block(from.elements(), [&](std::int64_t first, std::int64_t n) {
    write_block(from.f32() + first, n, to, first);
  });
}

}  // namespace pleat
