// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/narrow_products.hpp"

#include "kernels/cuda/quantize.hpp"

namespace pleat::cuda {
namespace {

// A product of bf16 with fp32 has no tensor cores: both become the same.
bool exact_in_bf16(View v) {
  if (v.scales == nullptr) return v.dtype == DType::bf16;
  return v.scales->rule == ScaleRule::power_of_two || v.scales->rule == ScaleRule::e8m0;
}

}  // namespace

std::pair<View, View> widened(Resources& r, View a, View b) {
  const DType type = exact_in_bf16(a) && exact_in_bf16(b) ? DType::bf16 : DType::fp32;
  const auto bytes = [&](View v) {
    return v.scales == nullptr ? 0 : Scratch::bytes<std::byte>(bytes_of(type, v.elements()));
  };
  const std::size_t all = bytes(a) + bytes(b);
  Scratch copies(r.copies(all), all);
  const auto wide = [&](View v) {
    if (v.scales == nullptr) return v;
    const View to{copies.take_bytes(bytes(v)), type, v.rows, v.cols};
    dequantize(r, v, to);
    return to;
  };
  const View wide_a = wide(a);
  return {wide_a, wide(b)};
}

}  // namespace pleat::cuda
