// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Normally distributed numbers as a function of a key and a counter, the same bits on every machine
// and device: of 64-bit integers, and of sums, products, quotients and roots of doubles, each of
// which IEEE 754 rounds correctly. No library's logarithm or cosine, whose last bits differ, and no
// contraction of a product and a sum: a device rounds each (below), and hosts call normal_numbers,
// which is compiled with -ffp-contract=off.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#ifdef __CUDACC__
#define PLEAT_ON_EVERY_DEVICE __host__ __device__
#else
#define PLEAT_ON_EVERY_DEVICE
#endif

namespace pleat {

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), the output mix.
PLEAT_ON_EVERY_DEVICE inline std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

namespace rounded {

// Of a device by its own functions, which are never contracted.
#ifdef __CUDA_ARCH__
#define PLEAT_ROUNDED(on_device, on_host) on_device
#else
#define PLEAT_ROUNDED(on_device, on_host) on_host
#endif
PLEAT_ON_EVERY_DEVICE inline double sum(double a, double b) {
  return PLEAT_ROUNDED(__dadd_rn(a, b), a + b);
}
PLEAT_ON_EVERY_DEVICE inline double product(double a, double b) {
  return PLEAT_ROUNDED(__dmul_rn(a, b), a * b);
}
PLEAT_ON_EVERY_DEVICE inline double quotient(double a, double b) {
  return PLEAT_ROUNDED(__ddiv_rn(a, b), a / b);
}
PLEAT_ON_EVERY_DEVICE inline double root(double a) {
  return PLEAT_ROUNDED(__dsqrt_rn(a), std::sqrt(a));
}
#undef PLEAT_ROUNDED

// c[0] + c[1] z + … + c[n - 1] z^(n - 1)
template <int n>
PLEAT_ON_EVERY_DEVICE inline double polynomial(const double (&c)[n], double z) {
  double value = c[n - 1];
  for (int i = n - 2; i >= 0; --i) value = sum(product(value, z), c[i]);
  return value;
}

}  // namespace rounded

// ln(k / 2^53) of 1 <= k <= 2^53, within 1e-15 of its size: k = x 2^e with x near 1 and
// ln x = 2 artanh s, s = (x - 1) / (x + 1), |s| <= 0.172, a series of odd powers.
PLEAT_ON_EVERY_DEVICE inline double log_of_unit(std::uint64_t k) {
  using namespace rounded;
  constexpr double odd[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                            1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  const auto whole = static_cast<double>(k);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &whole, sizeof bits);
  int e = static_cast<int>(bits >> 52) - 1023 - 53;
  bits = (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL;
  double x = 1;
  std::memcpy(&x, &bits, sizeof x);  // [1, 2)
  const bool large = x > 1.4142135623730951;
  x = large ? product(0.5, x) : x;
  e += large ? 1 : 0;
  const double s = quotient(sum(x, -1.0), sum(x, 1.0));
  const double ln_x = product(product(2.0, s), polynomial(odd, product(s, s)));
  return sum(product(e, ln2_high), sum(product(e, ln2_low), ln_x));
}

// cos(2 pi k / 2^53) of 0 <= k <= 2^53, within 1e-15: the quarter of the circle by integers, the
// rest, at most an eighth, by series of the sine or the cosine.
PLEAT_ON_EVERY_DEVICE inline double cos_of_unit(std::uint64_t k) {
  using namespace rounded;
  constexpr double cosine[] = {1.0,
                               -1.0 / 2,
                               1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200,
                               1.0 / 20922789888000};
  constexpr double sine[] = {1.0,
                             -1.0 / 6,
                             1.0 / 120,
                             -1.0 / 5040,
                             1.0 / 362880,
                             -1.0 / 39916800,
                             1.0 / 6227020800,
                             -1.0 / 1307674368000,
                             1.0 / 355687428096000};
  constexpr double two_pi = 6.283185307179586;
  const std::uint64_t quarter = (k + (1ULL << 50)) >> 51;
  const auto rest = static_cast<double>(static_cast<std::int64_t>(k - (quarter << 51)));
  const double angle = product(product(rest, 0x1p-53), two_pi), square = product(angle, angle);
  const double c = polynomial(cosine, square), s = product(angle, polynomial(sine, square));
  const double value = (quarter & 1) != 0 ? s : c;  // of 0: c, 1: -s, 2: -c, 3: s
  return (quarter & 3) == 1 || (quarter & 3) == 2 ? -value : value;
}

// Number i of those that belong to a key: normal with mean 0 and this standard deviation (Box and
// Muller, 1958, whose cosine alone is used).
PLEAT_ON_EVERY_DEVICE inline float normal_number(std::uint64_t key, std::uint64_t i,
                                                 double deviation) {
  using namespace rounded;
  const double radius =
      root(product(-2.0, log_of_unit((mixed_bits(key + 2 * i) >> 11) + 1)));
  const double turn = cos_of_unit((mixed_bits(key + 2 * i + 1) >> 11) + 1);
  return static_cast<float>(product(product(deviation, radius), turn));
}

// Numbers `first`, first + 1, … on this host.
void normal_numbers(std::uint64_t key, std::uint64_t first, double deviation, std::span<float> out);

}  // namespace pleat
