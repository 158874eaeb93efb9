// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/mixed_operands.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/quantize.hpp"

namespace pleat::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

// A view of codes ends with them: its scales are elsewhere, though bytes_of counts them.
std::byte* end_of(View v) {
  if (v.scales == nullptr) return v.at(v.elements());
  const std::int64_t codes_in_byte = v.dtype == DType::nvfp4 ? 2 : 1;
  return static_cast<std::byte*>(v.data) + (v.elements() + codes_in_byte - 1) / codes_in_byte;
}

bool overlap(View a, View b) { return a.data < end_of(b) && b.data < end_of(a); }

void widen(View v, float* to) {
  if (v.scales != nullptr) return dequantize(v, to);
  convert(v, {to, DType::fp32, v.rows, v.cols});
}

bool same(View a, View b) { return a.data == b.data && a.elements() == b.elements(); }

}  // namespace

void ScratchBlocks::Free::operator()(float* data) const { ::operator delete[](data, kAlignment); }

float* ScratchBlocks::block(std::size_t index, std::int64_t elements) {
  if (index >= blocks_.size()) blocks_.resize(index + 1);
  Block& b = blocks_[index];
  if (b.elements < elements) {
    b.data.reset(new (kAlignment) float[static_cast<std::size_t>(elements)]);
    b.elements = elements;
  }
  return b.data.get();
}

void convert(View from, View to) {
  const std::int64_t n = from.elements();
  PLEAT_ASSERT(to.elements() == n);
  if (n == 0) return;
  if (from.dtype == to.dtype) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(bytes_of(from.dtype, n)));
  } else if (from.dtype == DType::bf16) {
    PLEAT_ASSERT(to.dtype == DType::fp32);
    const auto* in = static_cast<const Bf16*>(from.data);
    float* out = to.f32();
    for (std::int64_t i = 0; i < n; ++i) out[i] = to_float(in[i]);
  } else {
    PLEAT_ASSERT(from.dtype == DType::fp32 && to.dtype == DType::bf16);
    const float* in = from.f32();
    auto* out = static_cast<Bf16*>(to.data);
    for (std::int64_t i = 0; i < n; ++i) out[i] = to_bf16(in[i]);
  }
}

View MixedOperands::copy_of(View v, bool read, bool written) {
  const bool narrow = v.scales != nullptr;
  if (v.data == nullptr || (v.dtype != DType::bf16 && !narrow)) return v;
  PLEAT_ASSERT(!narrow || !written);
  const auto view_of = [&](const Copy& c) { return View{c.values, DType::fp32, v.rows, v.cols}; };
  for (std::size_t i = 0; i < count_; ++i) {
    Copy& c = copies_[i];
    if (!same(c.original, v)) {
      PLEAT_ASSERT(!(written || c.written) || !overlap(c.original, v));
      continue;
    }
    if (read && !c.read) widen(v, c.values);
    c.read = c.read || read;
    c.written = c.written || written;
    return view_of(c);
  }
  PLEAT_ASSERT(count_ < kMost);
  Copy& c = copies_[count_];
  c = {v, blocks_.block(count_, v.elements()), read, written};
  ++count_;
  if (read) widen(v, c.values);
  return view_of(c);
}

HeadColumns MixedOperands::in(HeadColumns c) {
  c.x = in(c.x);
  return c;
}

HeadColumns MixedOperands::inout(HeadColumns c) {
  c.x = inout(c.x);
  return c;
}

MixedOperands::~MixedOperands() {
  for (std::size_t i = 0; i < count_; ++i) {
    const Copy& c = copies_[i];
    if (!c.written) continue;
    convert({c.values, DType::fp32, c.original.rows, c.original.cols}, c.original);
  }
}

}  // namespace pleat::cpu
