// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/narrow_products.hpp"

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/quantize.hpp"

namespace pleat::cuda {
namespace {

// A product of bf16 with fp32 has no tensor cores: both become the same.
bool exact_in_bf16(View v) {
  if (v.scales == nullptr) return v.dtype == DType::bf16;
  return v.scales->rule == ScaleRule::power_of_two || v.scales->rule == ScaleRule::e8m0;
}

// cuBLASLt's pairs.
bool go_together(NarrowKind a, NarrowKind b) {
  if (a.scales == NarrowScales::none || b.scales == NarrowScales::none) return false;
  if (a.format == SmallFloat::e5m2 && b.format == SmallFloat::e5m2) return false;
  const auto blocks = [](NarrowKind kind) {
    return kind.scales == NarrowScales::vec128 || kind.scales == NarrowScales::square128;
  };
  if (blocks(a) && blocks(b))
    return a.scales == NarrowScales::vec128 || b.scales == NarrowScales::vec128;
  return a.scales == b.scales;
}

bool by_group(View v, std::int64_t groups) {
  if (v.scales == nullptr || v.scales->format == SmallFloat::e2m1) return false;
  const BlockTable& t = blocks_of_matrix(v);
  return t.whole_groups && t.most_blocks == groups;
}

}  // namespace

bool adds_up_fast(const DenseProblem& p, NarrowKind a, NarrowKind b) {
  const auto tensor = [](NarrowKind kind) {
    return kind.format == SmallFloat::e4m3 && kind.scales == NarrowScales::tensor;
  };
  return !p.transpose_a && p.transpose_b && !p.accumulate && tensor(a) && tensor(b);
}

bool multiply_narrow_groups(Resources& r, Products p, View a, View b) {
  if (multiply_grouped_codes(r, p, a, b)) {
    note_taken_by(Implementation::cutlass_codes);
    return true;
  }
  if (!by_group(a, p.groups) || !by_group(b, p.groups) || exact_in_bf16(a) || exact_in_bf16(b))
    return false;
  const auto size = [](View v) {
    return Scratch::bytes<std::byte>(bytes_of(DType::bf16, v.elements()));
  };
  const std::size_t all = size(a) + size(b) + Scratch::bytes<float>(p.groups);
  Scratch copies(r.copies(all), all);
  const auto widen = [&](View v, Strided& operand) {
    const View wide{copies.take_bytes(size(v)), DType::bf16, v.rows, v.cols};
    dequantize(r, v, wide, false);
    operand.data = wide.data;
    operand.dtype = DType::bf16;
  };
  auto* const factors = copies.take<float>(p.groups);
  group_factors(r, a, b, p.groups, factors);
  widen(a, p.a);
  widen(b, p.b);
  if (!multiply_bf16_scaled(r, p, factors)) return false;
  note_taken_by(Implementation::own_tensor_cores);
  return true;
}

bool multiply_narrow(Resources& r, DenseGemm& dense, const DenseProblem& p, View a, View b,
                     View c) {
  if (p.k == 0 || !aligned16(a.data) || !aligned16(b.data) || !aligned16(c.data)) return false;
  if (c.dtype != DType::bf16 && c.dtype != DType::fp32) return false;
  const int on = capability(r);
  const NarrowKind kind_a = narrow_kind(a, !p.transpose_a, on);
  const NarrowKind kind_b = narrow_kind(b, p.transpose_b, on);
  if (!go_together(kind_a, kind_b)) return false;
  const std::size_t bytes = narrow_bytes(a, !p.transpose_a, kind_a) +
                            narrow_bytes(b, p.transpose_b, kind_b) + Scratch::bytes<float>(2);
  Scratch copies(r.copies(bytes), bytes);
  const NarrowOperand first = narrow_operand(r, a, !p.transpose_a, kind_a, copies);
  const NarrowOperand second = narrow_operand(r, b, p.transpose_b, kind_b, copies);
  float* factors = nullptr;
  if (kind_a.scales == NarrowScales::nvfp4_16) {
    factors = copies.take<float>(2);
    narrow_factors(r, a, b, p.accumulate ? 1.0F : 0.0F, factors);
  }
  DenseProblem narrow = p;
  narrow.transpose_a = false;
  narrow.transpose_b = true;
  narrow.fast_accumulation = adds_up_fast(p, kind_a, kind_b);
  if (!dense.run(narrow, first, second, factors, c.data)) return false;
  note_taken_by(Implementation::cublaslt_codes);
  return true;
}

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
