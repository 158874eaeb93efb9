// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Element types and their size in memory, scales included.
#pragma once

#include <cstdint>
#include <string_view>

namespace pleat {

// remainder16: the lower half of an fp32 number whose upper half is a bf16 weight kept elsewhere.
enum class DType : std::uint8_t {
  fp32, bf16, fp8, mxfp8, nvfp4, i32, i64, u8, fp16, remainder16
};

// Bytes of `elements` elements. mxfp8 carries one UE8M0 byte per 32 elements (1 + 1/32 B each),
// nvfp4 one E4M3 byte per 16 elements (1/2 + 1/16 B each); both are rounded up to whole blocks.
[[nodiscard]] constexpr std::int64_t bytes_of(DType type, std::int64_t elements) {
  switch (type) {
    case DType::fp32:
    case DType::i32: return 4 * elements;
    case DType::bf16:
    case DType::fp16:
    case DType::remainder16: return 2 * elements;
    case DType::i64: return 8 * elements;
    case DType::fp8:
    case DType::u8: return elements;
    case DType::mxfp8: return elements + (elements + 31) / 32;
    case DType::nvfp4: return (elements + 1) / 2 + (elements + 15) / 16;
  }
  return 0;
}

// Codes that scales beside them make numbers of.
[[nodiscard]] constexpr bool is_quantized(DType type) {
  return type == DType::fp8 || type == DType::mxfp8 || type == DType::nvfp4;
}

[[nodiscard]] constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::fp32: return "fp32";
    case DType::bf16: return "bf16";
    case DType::fp8: return "fp8";
    case DType::mxfp8: return "mxfp8";
    case DType::nvfp4: return "nvfp4";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u8: return "u8";
    case DType::fp16: return "fp16";
    case DType::remainder16: return "remainder16";
  }
  return "?";
}

}  // namespace pleat
