// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/units_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pleat {
namespace {

TEST(UnitsText, Reads) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("3.35 TB/s").value, BytesPerSecond(3.35e12));
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gbit/s").value, BytesPerSecond(50e9));
  EXPECT_EQ(parse_quantity<Bytes>("80 GiB").value, Bytes(80.0 * 1024 * 1024 * 1024));
  EXPECT_EQ(parse_quantity<Bytes>("80GB").value, Bytes(80e9));
  EXPECT_EQ(parse_quantity<FlopsPerSecond>("989 TFLOP/s").value, FlopsPerSecond(989e12));
  EXPECT_EQ(parse_quantity<Watts>("1.2 kW").value, Watts(1200));
  EXPECT_EQ(parse_quantity<Seconds>("5 us").value, Seconds(5e-6));  // exactly rounded, not 5 * 1e-6
  EXPECT_EQ(parse_quantity<Seconds>("0.3e1 ms").value, Seconds(3e-3));
  EXPECT_EQ(parse_quantity<Dollars>("2.95 USD").value, Dollars(2.95));
  EXPECT_EQ(parse_quantity<Flops>("2 GFLOP").value, Flops(2e9));
}

TEST(UnitsText, RefusesWithUnitsAndRange) {
  for (const char* bad :
       {"-5 GB/s", "0 GB/s", "999 kB/s", "1e-320 GB/s", "1e30 B/s", "1e999 B/s", "1e-999 B/s", "5",
        "5 Gb/s", "GB/s", "", "nan B/s", "inf B/s", "1,5 GB/s", "0x10 B/s", "5 GB/s ", ".5 GB/s"}) {
    const auto parsed = parse_quantity<BytesPerSecond>(bad);
    EXPECT_FALSE(parsed.value.has_value()) << bad;
    EXPECT_EQ(
        parsed.hint,
        "like \"3.35 TB/s\"; units: B/s, kB/s, MB/s, GB/s, TB/s, PB/s, Mbit/s, Gbit/s, Tbit/s; "
        "range: at least 1 MB/s, at most 1 PB/s")
        << bad;
  }
  EXPECT_EQ(parse_quantity<BytesPerSecond>("-5 GB/s").problem,
            "\"-5 GB/s\" is out of range: at least 1 MB/s, at most 1 PB/s");
  EXPECT_EQ(parse_quantity<BytesPerSecond>("5").problem, "\"5\" has no unit");
  EXPECT_EQ(parse_quantity<BytesPerSecond>("5 Gb/s").problem, "\"5 Gb/s\" has an unknown unit");
  EXPECT_EQ(parse_quantity<BytesPerSecond>("fast").problem, "\"fast\" is not a number with a unit");
  EXPECT_TRUE(parse_quantity("0 s", plausible_range_or_zero<Seconds>()).value.has_value());
}

TEST(UnitsText, PrintsForPeople) {
  EXPECT_EQ(to_text(BytesPerSecond(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(to_text(Bytes(80.0 * (1 << 30))), "80 GiB");
  EXPECT_EQ(to_text(Bytes(1)), "1 B");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Seconds(1234.5678e-6)), "1.235 ms");
  EXPECT_EQ(to_text(Seconds(1234567)), "1234567 s");
  EXPECT_EQ(to_text(-Seconds(2e-3)), "-2 ms");
}

TEST(UnitsText, ExactTextReadsBackBitForBit) {
  EXPECT_EQ(exact_text(Seconds(4.2e-6)), "4.2 us");
  EXPECT_EQ(exact_text(BytesPerSecond(123456789)), "123.456789 MB/s");
  EXPECT_EQ(exact_text(Seconds(1e-30)), "1e-21 ns");
  EXPECT_EQ(exact_text(Bytes(1.5 * 1024)), "1.5 KiB");
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-15, 5);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::pow(10.0, exponent(random));
    ASSERT_EQ(parse_quantity<Seconds>(exact_text(Seconds(x))).value, Seconds(x))
        << exact_text(Seconds(x));
    ASSERT_EQ(parse_quantity<Bytes>(exact_text(Bytes(x * 1e9))).value, Bytes(x * 1e9));
  }
}

}  // namespace
}  // namespace pleat
