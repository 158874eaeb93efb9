// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Element types of tensor files, and their values as fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.hpp"

namespace pleat {

// The types of the safetensors format.
enum class ElementType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

[[nodiscard]] std::string_view name_of(ElementType);  // "F8_E4M3"
[[nodiscard]] std::optional<ElementType> element_type_named(std::string_view name);
[[nodiscard]] int bits_of(ElementType);
// The type in which a tensor of the program is saved. Nothing for types with scales of their own.
[[nodiscard]] std::optional<ElementType> element_type_of(DType);

// Whether to_f32 reads the type: F32, F64, F16, BF16, F8_E4M3 and F8_E5M2.
[[nodiscard]] bool is_readable(ElementType);
// Converts out.size() elements; `bytes` must hold exactly as many. F64 is rounded to the nearest
// value.
void to_f32(ElementType, std::span<const std::byte> bytes, std::span<float> out);
// Converts to F32, BF16 or F16, rounded to nearest, ties to even. Other types are a programming
// error.
void from_f32(ElementType, std::span<const float> values, std::span<std::byte> out);

}  // namespace pleat
