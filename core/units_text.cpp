// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Units are a power of ten times a power of two, so scaling is done on the decimal text (the power
// of ten) and exactly in binary (the power of two): nothing is rounded twice.
#include "core/units_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

namespace pleat {
namespace {

struct Unit {
  std::string_view name;
  int power_of_ten;
  double power_of_two;  // exact
  bool printed = true;  // used when writing, not only when reading
};

constexpr double kKi = 1024.0;
constexpr Unit kBytes[] = {{"B", 0, 1},
                           {"KiB", 0, kKi},
                           {"MiB", 0, kKi* kKi},
                           {"GiB", 0, kKi* kKi* kKi},
                           {"TiB", 0, kKi* kKi* kKi* kKi},
                           {"kB", 3, 1, false},
                           {"MB", 6, 1, false},
                           {"GB", 9, 1, false},
                           {"TB", 12, 1, false}};
constexpr Unit kSeconds[] = {{"ns", -9, 1}, {"us", -6, 1}, {"ms", -3, 1}, {"s", 0, 1}};
constexpr Unit kFlops[] = {{"FLOP", 0, 1},   {"kFLOP", 3, 1},  {"MFLOP", 6, 1},  {"GFLOP", 9, 1},
                           {"TFLOP", 12, 1}, {"PFLOP", 15, 1}, {"EFLOP", 18, 1}, {"ZFLOP", 21, 1}};
constexpr Unit kBytesPerSecond[] = {{"B/s", 0, 1},
                                    {"kB/s", 3, 1},
                                    {"MB/s", 6, 1},
                                    {"GB/s", 9, 1},
                                    {"TB/s", 12, 1},
                                    {"PB/s", 15, 1},
                                    {"Mbit/s", 6, 0.125, false},
                                    {"Gbit/s", 9, 0.125, false},
                                    {"Tbit/s", 12, 0.125, false}};
constexpr Unit kFlopsPerSecond[] = {{"FLOP/s", 0, 1},   {"MFLOP/s", 6, 1},  {"GFLOP/s", 9, 1},
                                    {"TFLOP/s", 12, 1}, {"PFLOP/s", 15, 1}, {"EFLOP/s", 18, 1}};
constexpr Unit kDollars[] = {{"USD", 0, 1}};
constexpr Unit kWatts[] = {{"W", 0, 1}, {"kW", 3, 1}, {"MW", 6, 1}};

// min and max: what hardware of any kind has. A rate below them is a slip of the pen, and a step
// that is priced with it has no end.
template <class Q>
struct Kind;
template <>
struct Kind<Bytes> {
  static constexpr std::span<const Unit> units{kBytes};
  static constexpr double min = 0;
  static constexpr double max = 1024.0 * kKi * kKi * kKi * kKi;  // 1024 TiB
  static constexpr std::string_view example = "80 GiB";
};
template <>
struct Kind<Seconds> {
  static constexpr std::span<const Unit> units{kSeconds};
  static constexpr double min = 0;
  static constexpr double max = 1e6;
  static constexpr std::string_view example = "5 us";
};
template <>
struct Kind<Flops> {
  static constexpr std::span<const Unit> units{kFlops};
  static constexpr double min = 0;
  static constexpr double max = 1e24;
  static constexpr std::string_view example = "2.5 GFLOP";
};
template <>
struct Kind<BytesPerSecond> {
  static constexpr std::span<const Unit> units{kBytesPerSecond};
  static constexpr double min = 1e6;
  static constexpr double max = 1e15;
  static constexpr std::string_view example = "3.35 TB/s";
};
template <>
struct Kind<FlopsPerSecond> {
  static constexpr std::span<const Unit> units{kFlopsPerSecond};
  static constexpr double min = 1e6;
  static constexpr double max = 1e18;
  static constexpr std::string_view example = "989 TFLOP/s";
};
template <>
struct Kind<Dollars> {
  static constexpr std::span<const Unit> units{kDollars};
  static constexpr double min = 0;
  static constexpr double max = 1e12;
  static constexpr std::string_view example = "2.95 USD";
};
template <>
struct Kind<Watts> {
  static constexpr std::span<const Unit> units{kWatts};
  static constexpr double min = 0;
  static constexpr double max = 1e5;
  static constexpr std::string_view example = "700 W";
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "-3.35e2" at the front of the text: mantissa "-3.35", exponent 2, and the rest behind it.
struct NumberText {
  std::string_view mantissa;
  int exponent = 0;
  std::string_view rest;
};

std::optional<NumberText> split_number(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - begin;
  };
  if (i < text.size() && text[i] == '-') ++i;
  std::size_t count = digits();
  if (count == 0) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return std::nullopt;
  }
  NumberText number{text.substr(0, i), 0, {}};
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t e = i++;
    const bool negative = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    const std::size_t begin = i;
    if (digits() == 0) {
      i = e;  // an "E" that belongs to the unit
    } else {
      const std::string_view exponent = text.substr(begin, i - begin);
      if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), number.exponent).ec !=
          std::errc()) {
        number.exponent = 9999;
      }
      number.exponent = std::min(number.exponent, 9999) * (negative ? -1 : 1);
    }
  }
  number.rest = text.substr(i);
  return number;
}

double scaled(const NumberText& number, const Unit& unit) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "{}e{}", number.mantissa,
                 number.exponent + unit.power_of_ten);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    return number.exponent > 0 ? HUGE_VAL : 0.0;
  }
  return value * unit.power_of_two;
}

// The largest printed unit that leaves a number of at least one; else the smallest.
template <class Q>
const Unit& fitting_unit(double base) {
  const Unit* best = nullptr;
  for (const Unit& unit : Kind<Q>::units) {
    if (!unit.printed) continue;
    const double size = std::pow(10.0, unit.power_of_ten) * unit.power_of_two;
    if (best == nullptr || std::abs(base) >= size) best = &unit;
  }
  if (base == 0) {  // "0 s", not "0 ns"
    for (const Unit& unit : Kind<Q>::units) {
      if (unit.power_of_ten == 0 && unit.power_of_two == 1) best = &unit;
    }
  }
  return *best;
}

template <class Q>
std::string range_text(QuantityRange<Q> range) {
  return fmt::format("{} {}, at most {}", range.above_min ? "above" : "at least",
                     to_text(range.min), to_text(range.max));
}

}  // namespace

template <class Q>
QuantityRange<Q> plausible_range() {
  return {Q(Kind<Q>::min), Q(Kind<Q>::max), Kind<Q>::min == 0};
}

template <class Q>
QuantityRange<Q> plausible_range_or_zero() {
  return {Q(0), Q(Kind<Q>::max), false};
}

template <class Q>
std::string quantity_hint(QuantityRange<Q> range) {
  std::string units;
  for (const Unit& unit : Kind<Q>::units)
    units += (units.empty() ? "" : ", ") + std::string(unit.name);
  return fmt::format("like \"{}\"; units: {}; range: {}", Kind<Q>::example, units,
                     range_text(range));
}

template <class Q>
ParsedQuantity<Q> parse_quantity(std::string_view text, QuantityRange<Q> range) {
  ParsedQuantity<Q> out;
  const std::string_view shown = text.substr(0, 60);
  const auto failed = [&](std::string problem) {
    out.problem = std::move(problem);
    out.hint = quantity_hint(range);
    return std::move(out);
  };
  const auto number = split_number(text);
  if (!number) return failed(fmt::format("\"{}\" is not a number with a unit", shown));
  std::string_view name = number->rest;
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : Kind<Q>::units) {
    if (unit.name != name) continue;
    const Q value(scaled(*number, unit));
    if (!(value <= range.max) || value < range.min || (range.above_min && value == range.min)) {
      return failed(fmt::format("\"{}\" is out of range: {}", shown, range_text(range)));
    }
    out.value = value;
    return out;
  }
  return failed(name.empty() ? fmt::format("\"{}\" has no unit", shown)
                             : fmt::format("\"{}\" has an unknown unit", shown));
}

template <class Q>
std::string to_text(Q quantity) {
  const Unit& unit = fitting_unit<Q>(quantity.base());
  const double value = quantity.base() / unit.power_of_two / std::pow(10.0, unit.power_of_ten);
  const int decimals = std::abs(value) >= 1000 ? 0 : -1;  // 1234, not 1.234e+03
  if (decimals == 0 && std::abs(value) < 1e15) return fmt::format("{:.0f} {}", value, unit.name);
  return fmt::format("{:.4g} {}", value, unit.name);
}

template <class Q>
std::string exact_text(Q quantity) {
  const Unit& unit = fitting_unit<Q>(quantity.base());
  const double value = quantity.base() / unit.power_of_two;  // exact
  // The fewest digits that read back, with the decimal point moved by the unit's power of ten.
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::string_view digits = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  exponent -= unit.power_of_ten;
  std::string mantissa(text.substr(0, e));
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.erase(0, 1);
  if (exponent < -6 || exponent > 15) {
    return fmt::format("{}{}e{} {}", negative ? "-" : "", mantissa, exponent, unit.name);
  }
  std::erase(mantissa, '.');
  if (exponent < 0) {
    mantissa.insert(0, "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0'));
  } else if (const auto point = static_cast<std::size_t>(exponent) + 1; point < mantissa.size()) {
    mantissa.insert(point, ".");
  } else {
    mantissa.append(point - mantissa.size(), '0');
  }
  return fmt::format("{}{} {}", negative ? "-" : "", mantissa, unit.name);
}

#define PLEAT_QUANTITY_TEXT(Q)                                                      \
  template QuantityRange<Q> plausible_range<Q>();                                   \
  template QuantityRange<Q> plausible_range_or_zero<Q>();                           \
  template ParsedQuantity<Q> parse_quantity<Q>(std::string_view, QuantityRange<Q>); \
  template std::string quantity_hint<Q>(QuantityRange<Q>);                          \
  template std::string to_text<Q>(Q);                                               \
  template std::string exact_text<Q>(Q);
PLEAT_QUANTITY_TEXT(Bytes)
PLEAT_QUANTITY_TEXT(Seconds)
PLEAT_QUANTITY_TEXT(Flops)
PLEAT_QUANTITY_TEXT(BytesPerSecond)
PLEAT_QUANTITY_TEXT(FlopsPerSecond)
PLEAT_QUANTITY_TEXT(Dollars)
PLEAT_QUANTITY_TEXT(Watts)
#undef PLEAT_QUANTITY_TEXT

}  // namespace pleat
