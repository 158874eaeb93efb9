// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/tables.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Tables, AlignsColumnsAndDropsTrailingBlanks) {
  const Table table{{{"name", Align::left}, {"n"}, {"note", Align::left}},
                    {{"a", "1", ""}, {"longer", "1,000", "yes"}}};
  EXPECT_EQ(to_text(table),
            "name        n  note\n"
            "a           1\n"
            "longer  1,000  yes\n");
}

TEST(Tables, WithoutAColumn) {
  const Table table{{{"name", Align::left}, {"n"}, {"m"}}, {{"a", "1", "2"}, {"b", "3", "4"}}};
  EXPECT_EQ(to_text(without_column(table, "n")),
            "name  m\n"
            "a     2\n"
            "b     4\n");
}

TEST(Tables, CountsCharactersNotBytes) {
  const Table table{{{"é"}, {"b"}}, {{"xx", "1"}}};
  EXPECT_EQ(to_text(table), " é  b\nxx  1\n");
}

TEST(Tables, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(671026404352), "671,026,404,352");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
}

TEST(Tables, Magnitudes) {
  EXPECT_EQ(format_billions(671026404352), "671.026 B");
  EXPECT_EQ(format_billions(1500000), "1.500 M");
  EXPECT_EQ(format_bytes(512), "0.50 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 20), "3.00 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{5} << 30), "5.00 GiB");
  EXPECT_EQ(format_seconds(Seconds(1.5)), "1.500 s");
  EXPECT_EQ(format_seconds(Seconds(0.0125)), "12.50 ms");
  EXPECT_EQ(format_seconds(Seconds(2.5e-6)), "2.50 us");
  EXPECT_EQ(format_percent(0.123), "+12.3 %");
  EXPECT_EQ(format_percent(-0.05), "-5.0 %");
}

TEST(Tables, ThreeDigitsThatCount) {
  EXPECT_EQ(three_digits(0.0912345), "0.0912");
  EXPECT_EQ(three_digits(0.9), "0.900");
  EXPECT_EQ(three_digits(2.875), "2.88");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.94), "99.9");
  EXPECT_EQ(three_digits(1234.4), "1234");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(-0.01234), "-0.0123");
}

}  // namespace
}  // namespace pleat
