// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Physical quantities as types: the compiler proves that bytes over bandwidth are seconds.
// A Quantity holds a double in base units (B, s, FLOP, $, J); .base() is for I/O only.
#pragma once

#include <compare>

namespace pleat {

template <int Byte, int Second, int Flop, int Dollar, int Joule>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double base) : base_(base) {}

  [[nodiscard]] constexpr double base() const { return base_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  // Said apart, because of <=> of doubles GCC 12 makes jumps where one instruction would do.
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.base_ < b.base_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.base_ <= b.base_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.base_ > b.base_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.base_ >= b.base_; }
  constexpr Quantity& operator+=(Quantity o) { base_ += o.base_; return *this; }
  constexpr Quantity& operator-=(Quantity o) { base_ -= o.base_; return *this; }
  constexpr Quantity& operator*=(double f) { base_ *= f; return *this; }
  constexpr Quantity operator-() const { return Quantity(-base_); }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.base_ + b.base_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.base_ - b.base_);
  }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.base_ * f); }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(a.base_ * f); }
  friend constexpr Quantity operator/(Quantity a, double f) { return Quantity(a.base_ / f); }

 private:
  double base_ = 0;
};

template <int B, int S, int F, int D, int J>
constexpr double operator/(Quantity<B, S, F, D, J> a, Quantity<B, S, F, D, J> b) {
  return a.base() / b.base();
}

template <int B1, int S1, int F1, int D1, int J1, int B2, int S2, int F2, int D2, int J2>
constexpr auto operator/(Quantity<B1, S1, F1, D1, J1> a, Quantity<B2, S2, F2, D2, J2> b) {
  return Quantity<B1 - B2, S1 - S2, F1 - F2, D1 - D2, J1 - J2>(a.base() / b.base());
}

template <int B1, int S1, int F1, int D1, int J1, int B2, int S2, int F2, int D2, int J2>
constexpr auto operator*(Quantity<B1, S1, F1, D1, J1> a, Quantity<B2, S2, F2, D2, J2> b) {
  return Quantity<B1 + B2, S1 + S2, F1 + F2, D1 + D2, J1 + J2>(a.base() * b.base());
}

using Bytes = Quantity<1, 0, 0, 0, 0>;
using Seconds = Quantity<0, 1, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0>;
using BytesPerSecond = Quantity<1, -1, 0, 0, 0>;
using FlopsPerSecond = Quantity<0, -1, 1, 0, 0>;
using Dollars = Quantity<0, 0, 0, 1, 0>;
using Watts = Quantity<0, -1, 0, 0, 1>;

// What larger units have of base units.
inline constexpr double kGiB = 1024.0 * 1024 * 1024;  // bytes
inline constexpr double kHour = 3600, kDay = 86'400;  // seconds

}  // namespace pleat
