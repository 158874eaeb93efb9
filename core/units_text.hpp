// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantities as text: "3.35 TB/s", "80 GiB", "989 TFLOP/s", "700 W", "5 us", "400 Gbit/s".
// Reading is exactly rounded and independent of the locale; exact_text reads back bit for bit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.hpp"

namespace pleat {

// Allowed values, both ends included unless `above_min`.
template <class Q>
struct QuantityRange {
  Q min;
  Q max;
  bool above_min = true;  // the minimum itself is not allowed
};

// What is plausible for a quantity of this kind: positive, and what hardware or a step can have.
template <class Q>
[[nodiscard]] QuantityRange<Q> plausible_range();
// The same, zero allowed.
template <class Q>
[[nodiscard]] QuantityRange<Q> plausible_range_or_zero();

template <class Q>
struct ParsedQuantity {
  std::optional<Q> value;
  std::string problem;  // empty when there is a value
  std::string hint;     // units and range that are allowed
};

// Q is one of Bytes, Seconds, Flops, BytesPerSecond, FlopsPerSecond, Dollars, Watts.
template <class Q>
[[nodiscard]] ParsedQuantity<Q> parse_quantity(std::string_view text,
                                               QuantityRange<Q> range = plausible_range<Q>());

// "units: B/s, kB/s, … ; allowed range: above 0 B/s, at most 1 PB/s"
template <class Q>
[[nodiscard]] std::string quantity_hint(QuantityRange<Q> range);

// For people: four significant digits in the unit that fits.
template <class Q>
[[nodiscard]] std::string to_text(Q);
// For files: as many digits as it takes.
template <class Q>
[[nodiscard]] std::string exact_text(Q);

}  // namespace pleat
