// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every code of every narrow type, both ways, and roundings worked out by hand.
#include "core/numerics/small_float.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numerics/philox.hpp"

namespace pleat {
namespace {

constexpr SmallFloat kTypes[] = {SmallFloat::e4m3, SmallFloat::e5m2, SmallFloat::e2m1};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Finite codes without sign are those up to the largest; the sign is the next bit.
unsigned codes_of(SmallFloat t) {
  return t == SmallFloat::e4m3 ? 0x7f : t == SmallFloat::e5m2 ? 0x7c : 8;
}
unsigned sign_of(SmallFloat t) { return t == SmallFloat::e2m1 ? 8 : 0x80; }

std::uint8_t code(unsigned c) { return static_cast<std::uint8_t>(c); }

TEST(SmallFloat, E2M1IsItsTable) {
  const float table[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (unsigned c = 0; c < 8; ++c) {
    EXPECT_EQ(decode(SmallFloat::e2m1, code(c)), table[c]);
    EXPECT_EQ(decode(SmallFloat::e2m1, code(c + 8)), -table[c]);
  }
}

TEST(SmallFloat, EightBitCodesFollowFromTheirFields) {
  for (unsigned c = 0; c < 128; ++c) {
    const auto m = static_cast<float>(c & 7U);
    const int e = static_cast<int>(c >> 3U);
    const float e4m3 = e == 0 ? m * 0x1p-9F : std::ldexp(1 + m / 8, e - 7);
    if (c != 0x7f) {
      EXPECT_EQ(decode(SmallFloat::e4m3, code(c)), e4m3) << c;
    }
    const auto m2 = static_cast<float>(c & 3U);
    const int e2 = static_cast<int>(c >> 2U);
    const float e5m2 = e2 == 0 ? m2 * 0x1p-16F : std::ldexp(1 + m2 / 4, e2 - 15);
    if (c < 0x7c) {
      EXPECT_EQ(decode(SmallFloat::e5m2, code(c)), e5m2) << c;
    }
  }
  EXPECT_TRUE(std::isnan(decode(SmallFloat::e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(SmallFloat::e4m3, 0xff)));
  EXPECT_EQ(decode(SmallFloat::e5m2, 0x7c), kInf);
  EXPECT_EQ(decode(SmallFloat::e5m2, 0xfc), -kInf);
  for (unsigned c : {0x7dU, 0x7eU, 0x7fU, 0xfdU, 0xfeU, 0xffU}) {
    EXPECT_TRUE(std::isnan(decode(SmallFloat::e5m2, code(c)))) << c;
  }
  EXPECT_EQ(largest(SmallFloat::e4m3), 448);
  EXPECT_EQ(largest(SmallFloat::e5m2), 57344);
  EXPECT_EQ(largest(SmallFloat::e2m1), 6);
}

TEST(SmallFloat, EveryFiniteCodeStaysItself) {
  for (const SmallFloat t : kTypes) {
    for (unsigned c = 0; c < codes_of(t); ++c) {
      for (const unsigned sign : {0U, sign_of(t)}) {
        const float value = decode(t, code(c | sign));
        EXPECT_EQ(encode(t, value), c | sign);
        EXPECT_EQ(encode_stochastic(t, value, 0), c | sign);  // whatever the random bits are
        EXPECT_EQ(encode_stochastic(t, value, 0xffffffff), c | sign);
      }
    }
  }
}

// Between two neighbours: the middle goes to the even code, what is beside it to the nearer one.
TEST(SmallFloat, RoundsToNearestEvenBetweenAllNeighbours) {
  for (const SmallFloat t : kTypes) {
    for (unsigned c = 0; c + 1 < codes_of(t); ++c) {
      const float low = decode(t, code(c)), high = decode(t, code(c + 1));
      ASSERT_LT(low, high);
      const float middle = (low + high) / 2;
      for (const float sign : {1.0F, -1.0F}) {
        const unsigned bit = sign < 0 ? sign_of(t) : 0;
        EXPECT_EQ(encode(t, sign * middle), (c + c % 2) | bit) << middle;
        EXPECT_EQ(encode(t, sign * std::nextafter(middle, 0.0F)), c | bit);
        EXPECT_EQ(encode(t, sign * std::nextafter(middle, kInf)), (c + 1) | bit);
        EXPECT_EQ(encode(t, sign * std::nextafter(low, kInf)), c | bit);
        EXPECT_EQ(encode(t, sign * std::nextafter(high, 0.0F)), (c + 1) | bit);
      }
    }
  }
}

TEST(SmallFloat, HandWorkedVectors) {
  const struct {
    SmallFloat type;
    float x;
    unsigned code;
  } cases[] = {{SmallFloat::e4m3, 1, 0x38},
               {SmallFloat::e4m3, -1, 0xb8},
               {SmallFloat::e4m3, 17, 0x58},         // between 16 and 18, to 16
               {SmallFloat::e4m3, 19, 0x5a},         // between 18 and 20, to 20
               {SmallFloat::e4m3, 0x1p-6F, 0x08},    // the least normal
               {SmallFloat::e4m3, 0x1p-9F, 0x01},    // the least subnormal
               {SmallFloat::e4m3, 0x1p-10F, 0x00},   // half of it
               {SmallFloat::e4m3, 0x1.8p-9F, 0x02},  // one and a half of it
               {SmallFloat::e4m3, 0x1.ep-7F, 0x08},  // 7.5 of it: the next is normal
               {SmallFloat::e4m3, 0x1p-126F, 0x00},
               {SmallFloat::e4m3, 0x1p-149F, 0x00},
               {SmallFloat::e4m3, -0.0F, 0x80},
               {SmallFloat::e4m3, 448, 0x7e},
               {SmallFloat::e4m3, 464, 0x7e},
               {SmallFloat::e4m3, 1e30F, 0x7e},
               {SmallFloat::e4m3, kInf, 0x7e},
               {SmallFloat::e4m3, -kInf, 0xfe},
               {SmallFloat::e4m3, kNan, 0x7f},
               {SmallFloat::e5m2, 1, 0x3c},
               {SmallFloat::e5m2, 1.125F, 0x3c},
               {SmallFloat::e5m2, 1.375F, 0x3e},
               {SmallFloat::e5m2, 0x1p-14F, 0x04},
               {SmallFloat::e5m2, 0x1p-16F, 0x01},
               {SmallFloat::e5m2, 0x1p-17F, 0x00},
               {SmallFloat::e5m2, 57344, 0x7b},
               {SmallFloat::e5m2, 61440, 0x7b},
               {SmallFloat::e5m2, kInf, 0x7b},
               {SmallFloat::e5m2, kNan, 0x7f},
               {SmallFloat::e2m1, 0.25F, 0},
               {SmallFloat::e2m1, 0.26F, 1},
               {SmallFloat::e2m1, 0.75F, 2},
               {SmallFloat::e2m1, 1.25F, 2},
               {SmallFloat::e2m1, 1.75F, 4},
               {SmallFloat::e2m1, 2.5F, 4},
               {SmallFloat::e2m1, 3.5F, 6},
               {SmallFloat::e2m1, 5, 6},
               {SmallFloat::e2m1, 5.01F, 7},
               {SmallFloat::e2m1, -5.01F, 15},
               {SmallFloat::e2m1, kInf, 7},
               {SmallFloat::e2m1, -1e9F, 15},
               {SmallFloat::e2m1, kNan, 7}};
  for (const auto& c : cases) EXPECT_EQ(encode(c.type, c.x), c.code) << c.x;
}

// 2.25 is a quarter of the way from 2 to 3; 0.4 is 0.8 of the way from 0 to 0.5.
TEST(SmallFloat, StochasticRoundingGoesUpAsOftenAsItsPart) {
  EXPECT_EQ(encode_stochastic(SmallFloat::e2m1, 2.25F, 0x3fffffff), 5);
  EXPECT_EQ(encode_stochastic(SmallFloat::e2m1, 2.25F, 0x40000000), 4);
  EXPECT_EQ(encode_stochastic(SmallFloat::e2m1, -2.25F, 0), 13);
  EXPECT_EQ(encode_stochastic(SmallFloat::e2m1, 7, 0), 7);
  EXPECT_EQ(encode_stochastic(SmallFloat::e2m1, kNan, 0), 7);
  double sum = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; i += 4) {
    const PhiloxCounter bits = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {1, 2});
    for (const std::uint32_t r : bits) {
      sum += static_cast<double>(
          decode(SmallFloat::e2m1, encode_stochastic(SmallFloat::e2m1, 0.4F, r)));
    }
  }
  EXPECT_NEAR(sum / kDraws, 0.4, 4 * 0.2 / std::sqrt(kDraws));  // four standard deviations
}

TEST(SmallFloat, ScalesArePowersOfTwoRoundedUp) {
  for (unsigned c = 0; c < 255; ++c) {
    const float value = decode_e8m0(code(c));
    EXPECT_EQ(value, std::ldexp(1.0F, static_cast<int>(c) - 127));
    EXPECT_EQ(encode_e8m0(value), c);
    if (c < 254) {
      EXPECT_EQ(encode_e8m0(std::nextafter(value, kInf)), c + 1);
    }
  }
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
  EXPECT_EQ(encode_e8m0(kNan), 255);
  EXPECT_EQ(encode_e8m0(0), 0);
  EXPECT_EQ(encode_e8m0(0x1p-149F), 0);
  EXPECT_EQ(encode_e8m0(kInf), 254);
  EXPECT_EQ(encode_e8m0(3.4e38F), 254);  // above 2^127: the largest power
}

TEST(Bf16, EveryNumberStaysItself) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(value))));
    } else {
      EXPECT_EQ(to_bf16(value), x);
    }
  }
  static_assert(to_bf16(1.00390625F).bits == 0x3f80);  // 1 + 2^-8 ties to 1
  static_assert(to_bf16(1.01171875F).bits == 0x3f82);  // 1 + 3 * 2^-8 to 1 + 2^-6
}

// Known answers of Random123's tests.
TEST(Philox, KnownAnswers) {
  static_assert(philox({0, 0, 0, 0}, {0, 0}) ==
                PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  static_assert(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
                PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  static_assert(
      philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
      PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

}  // namespace
}  // namespace pleat
