// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Optimizer moments in narrow types: blocks of them to fp32, a step, and back.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/mixed_kernels.hpp"

namespace pleat {
namespace {

// Blocks are scaled to these: no rounding leaves the range.
constexpr float kLargestHalf = 32768.0F;

int exponent_of(float x) {
  return static_cast<int>((std::bit_cast<std::uint32_t>(x) >> 23) & 255) - 127;
}
float power_of_two(int e) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
}

// fp16: 5 bits of exponent, 10 of mantissa.
constexpr int kLowest = -14, kMantissa = 10;
constexpr unsigned kFull = 1U << kMantissa, kSign = 0x8000U;

// |x| <= 32768. Rounded to nearest even, the smallest numbers to multiples of the smallest one.
std::uint16_t to_half(float x) {
  const int e = std::max(exponent_of(x), kLowest);
  const auto units =
      static_cast<unsigned>(std::nearbyint(std::fabs(x) / power_of_two(e - kMantissa)));
  // Fewer than kFull units have no leading one, twice as many carry into the exponent by
  // themselves.
  const unsigned size = static_cast<unsigned>(e - kLowest) * kFull + units;
  return static_cast<std::uint16_t>((std::signbit(x) ? kSign : 0U) | size);
}

float from_half(unsigned bits) {
  const unsigned mantissa = bits & (kFull - 1);
  const int exponent = static_cast<int>((bits & ~kSign) >> kMantissa);
  const float size =
      exponent == 0 ? static_cast<float>(mantissa) * power_of_two(kLowest - kMantissa)
                    : static_cast<float>(mantissa + kFull) *
                          power_of_two(exponent - 1 + kLowest - kMantissa);
  return (bits & kSign) != 0 ? -size : size;
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
      for (std::int64_t i = 0; i < n; ++i) out[i] = to_float(Bf16{words[first + i]});
      return;
    case DType::fp16:
    case DType::fp8: {
      const float scale = m.scales[first / kMomentBlockElements];
      const bool half = m.values.dtype == DType::fp16;
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = scale * (half ? from_half(words[first + i])
                               : decode(SmallFloat::e4m3, bytes[first + i]));
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
      for (std::int64_t i = 0; i < n; ++i) words[first + i] = to_bf16(x[i]).bits;
      return;
    case DType::fp16:
    case DType::fp8: {
      const bool half = m.values.dtype == DType::fp16;
      const float scale = scale_for(x, n, half ? kLargestHalf : largest(SmallFloat::e4m3));
      m.scales[first / kMomentBlockElements] = scale;
      const float inverse = 1 / scale;
      for (std::int64_t i = 0; i < n; ++i) {
        if (half) {
          words[first + i] = to_half(x[i] * inverse);
        } else {
          bytes[first + i] = encode(SmallFloat::e4m3, x[i] * inverse);
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
                              std::span<const ElementSpan> undecayed, View weights) {
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
            inside ? without : a,
            weights.data == nullptr ? View{} : slice(weights, at, elements));
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

// Steps of optimizers on bf16 gradients. Each element by itself: a bucket is never widened as a
// whole.

using Operands = cpu::MixedOperands;

namespace {

constexpr std::int64_t kAtATime = 1 << 16;  // elements of a bucket that are widened at a time
constexpr std::int64_t kInCache = 1 << 12;  // that are stepped, and rounded before they leave it

View part(View v, std::int64_t first, std::int64_t n) { return {v.at(first), v.dtype, 1, n}; }

}  // namespace

void MixedKernels::adamw(View g, View m, View v, View w, double grad_scale, const AdamW& a,
                         View weights) {
  const bool rounds = weights.data != nullptr;
  PLEAT_ASSERT(!rounds || weights.elements() == w.elements());
  if (g.dtype == DType::fp32 && !rounds) return CpuKernels::adamw(g, m, v, w, grad_scale, a);
  const std::int64_t most = rounds ? kInCache : kAtATime;
  for (std::int64_t first = 0; first < g.elements(); first += most) {
    const std::int64_t n = std::min(most, g.elements() - first);
    Operands o(scratch_);
    const View main = part(w, first, n);
    CpuKernels::adamw(o.in(part(g, first, n)), part(m, first, n), part(v, first, n), main,
                      grad_scale, a);
    if (rounds) copy(main, part(weights, first, n));
  }
}

void MixedKernels::sgd(View g, View m, View w, double grad_scale, const Sgd& s) {
  if (g.dtype == DType::fp32) return CpuKernels::sgd(g, m, w, grad_scale, s);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::sgd(o.in(part(g, first, n)), part(m, first, n), part(w, first, n), grad_scale, s);
  }
}

void MixedKernels::lamb(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  if (g.dtype == DType::fp32) return CpuKernels::lamb(g, m, v, w, grad_scale, a);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::lamb(o.inout(part(g, first, n)), part(m, first, n), part(v, first, n),
                     part(w, first, n), grad_scale, a);
  }
}

void MixedKernels::muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) {
  if (g.dtype == DType::fp32) return CpuKernels::muon_momentum(g, m, grad_scale, beta, nesterov);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::muon_momentum(o.inout(part(g, first, n)), part(m, first, n), grad_scale, beta,
                              nesterov);
  }
}

void MixedKernels::scaled_step(View u, View w, double keep, double rate) {
  if (u.dtype == DType::fp32) return CpuKernels::scaled_step(u, w, keep, rate);
  for (std::int64_t first = 0; first < u.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, u.elements() - first);
    Operands o(scratch_);
    CpuKernels::scaled_step(o.in(part(u, first, n)), part(w, first, n), keep, rate);
  }
}

}  // namespace pleat
