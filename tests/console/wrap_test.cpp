// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/wrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console/tables.hpp"

namespace pleat {
namespace {

using ::testing::ElementsAre;

TEST(Wrap, FieldsStayWhole) {
  EXPECT_EQ(
      wrap_fields({"11.07 s", "between 10 s and 12 s", "last"}, ", ", 30, {"step  ", "      "}),
      "step  11.07 s,\n"
      "      between 10 s and 12 s,\n"
      "      last\n");
  EXPECT_EQ(wrap_fields({"a", "b"}, " | ", 30), "a | b\n");
}

TEST(Wrap, AFieldLongerThanALineBreaksAtWords) {
  EXPECT_EQ(wrap_fields({"one two three four", "x"}, ", ", 10, {"", "  "}),
            "one two\n  three\n  four, x\n");
}

TEST(Wrap, NumbersStayWithTheirUnits) {
  EXPECT_THAT(words_of("TP 2 -> 1 takes 3.10 ms, not 4 s (5.00 GiB more)"),
              ElementsAre("TP", "2 -> 1", "takes", "3.10 ms,", "not", "4 s", "(5.00 GiB", "more)"));
  EXPECT_EQ(wrap_words("takes 12.00 GiB\n\nmore", 8, {"", "  "}), "takes\n  12.00 GiB\n\nmore\n");
}

TEST(Wrap, OnlyLinesThatAreTooLongChange) {
  EXPECT_EQ(wrap_long_lines("  weights     1.00 GiB\n  a b c d e f g h i j k l m n\n", 24),
            "  weights     1.00 GiB\n  a b c d e f g h i j k\n      l m n\n");
}

// Pasted into a shell, it is one command.
TEST(Wrap, CommandsBreakBeforeOptions) {
  EXPECT_EQ(wrap_command("pleat plan --model x --gpus 16 --json", 24, {"", "    "}),
            "pleat plan --model x \\\n    --gpus 16 --json\n");
}

TEST(Wrap, FactsHaveTheirNamesInAColumn) {
  EXPECT_EQ(facts_text({{"step time", {"1 s", "2 s"}}, {"none", {}}, {"MFU", {"40%"}}}, 80),
            "step time  1 s, 2 s\n"
            "MFU        40%\n");
}

TEST(FitTable, AsItIsWhereItFits) {
  const Table table{{{"name", Align::left}, {"n"}}, {{"a", "1"}}};
  EXPECT_EQ(to_text(table, 80), to_text(table));
}

TEST(FitTable, TitlesBreakFirst) {
  const Table table{{{"cluster", Align::left}, {"days P50"}, {"save every min"}},
                    {{"h100", "12.3", "4.5"}}};
  EXPECT_EQ(to_text(table, 24),
            "                save\n"
            "         days  every\n"
            "cluster   P50    min\n"
            "h100     12.3    4.5\n");
}

TEST(FitTable, ALastTextBreaksOrStandsBelow) {
  const Table table{{{"#"}, {"ms"}, {"plan", Align::left}},
                    {{"1", "10.5", "TP1 CP1 DP8 | EP8 mbs1"}}};
  EXPECT_EQ(to_text(table, 24),
            "#    ms  plan\n"
            "1  10.5  TP1 CP1 DP8 |\n"
            "         EP8 mbs1\n");
  EXPECT_EQ(to_text(table, 15),
            "#    ms\n"
            "    plan\n"
            "1  10.5\n"
            "    TP1 CP1 DP8\n"
            "    | EP8 mbs1\n");
}

TEST(FitTable, AFirstTextStandsAbove) {
  const Table table{{{"row", Align::left}, {"measured"}, {"error"}},
                    {{"a-very-long-name", "1.5", "2%"}}};
  EXPECT_EQ(to_text(table, 18),
            "row\n"
            "  measured  error\n"
            "a-very-long-name\n"
            "       1.5     2%\n");
}

// Every part begins with the same columns; no cell is lost.
TEST(FitTable, FallsApartIntoPartsWithTheSameRows) {
  Table table{{{"", Align::left}, {"id", Align::left}, {"aaaa"}, {"bbbb"}, {"cccc"}},
              {{"*", "x", "1", "2", "3"}, {"", "y", "4", "5", "6"}},
              2};
  EXPECT_EQ(to_text(table, 17),
            "   id  aaaa  bbbb\n"
            "*  x      1     2\n"
            "   y      4     5\n"
            "\n"
            "   id  cccc\n"
            "*  x      3\n"
            "   y      6\n");
}

}  // namespace
}  // namespace pleat
