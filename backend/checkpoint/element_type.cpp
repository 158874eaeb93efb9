// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/element_type.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat {
namespace {

struct TypeFacts {
  std::string_view name;
  int bits;
};

constexpr std::array<TypeFacts, 22> kTypes{
    {{"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
     {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
     {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
     {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
     {"I64", 64},        {"U64", 64}}};
static_assert(kTypes.size() == static_cast<std::size_t>(ElementType::u64) + 1);

// A half float: 5 bits of exponent, 10 of mantissa.
float from_f16(std::uint16_t bits) {
  const int mantissa = bits & 0x3ff, exponent = (bits >> 10) & 0x1f;
  float value = 0;
  if (exponent == 0x1f) {
    value = mantissa == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class Raw, class Convert>
void convert(std::span<const std::byte> bytes, std::span<float> out, Convert value_of) {
  PLEAT_ASSERT(bytes.size() == out.size() * sizeof(Raw));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Raw raw;
    std::memcpy(&raw, bytes.data() + i * sizeof(Raw), sizeof(Raw));
    out[i] = value_of(raw);
  }
}

std::array<float, 256> table(SmallFloat type) {
  std::array<float, 256> values{};
  for (unsigned i = 0; i < 256; ++i) values[i] = decode(type, static_cast<std::uint8_t>(i));
  return values;
}

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (size >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (size < 0x1p-14F) {  // subnormal: multiples of 2^-24, ties to even
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(std::nearbyint(size * 0x1p24F)));
  }
  const std::uint32_t rounded = (bits & 0x7fffffffU) + 0xfffU + ((bits >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

}  // namespace

std::string_view name_of(ElementType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

int bits_of(ElementType type) { return kTypes[static_cast<std::size_t>(type)].bits; }

std::optional<ElementType> element_type_of(DType type) {
  switch (type) {
    case DType::fp32:
      return ElementType::f32;
    case DType::bf16:
      return ElementType::bf16;
    case DType::fp16:
      return ElementType::f16;
    case DType::i32:
      return ElementType::i32;
    case DType::i64:
      return ElementType::i64;
    case DType::u8:
      return ElementType::u8;
    case DType::remainder16:
      return ElementType::u16;
    case DType::fp8:
      return ElementType::f8_e4m3;
    case DType::mxfp8:
    case DType::nvfp4:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_readable(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16 || type == ElementType::f8_e4m3 || type == ElementType::f8_e5m2;
}

void to_f32(ElementType type, std::span<const std::byte> bytes, std::span<float> out) {
  PLEAT_ASSERT(is_readable(type));
  if (type == ElementType::f32) {
    PLEAT_ASSERT(bytes.size() == out.size_bytes());
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else if (type == ElementType::f64) {
    convert<double>(bytes, out, [](double v) { return static_cast<float>(v); });
  } else if (type == ElementType::bf16) {
    convert<std::uint16_t>(bytes, out, [](std::uint16_t v) { return to_float(Bf16{v}); });
  } else if (type == ElementType::f16) {
    convert<std::uint16_t>(bytes, out, from_f16);
  } else {
    static const auto e4m3 = table(SmallFloat::e4m3), e5m2 = table(SmallFloat::e5m2);
    const auto& values = type == ElementType::f8_e4m3 ? e4m3 : e5m2;
    convert<std::uint8_t>(bytes, out, [&](std::uint8_t v) { return values[v]; });
  }
}

void from_f32(ElementType type, std::span<const float> values, std::span<std::byte> out) {
  PLEAT_ASSERT(out.size() * 8 == values.size() * static_cast<std::size_t>(bits_of(type)));
  if (type == ElementType::f32) {
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
    return;
  }
  PLEAT_ASSERT(type == ElementType::bf16 || type == ElementType::f16);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t raw =
        type == ElementType::bf16 ? to_bf16(values[i]).bits : to_f16(values[i]);
    std::memcpy(out.data() + 2 * i, &raw, 2);
  }
}

}  // namespace pleat
