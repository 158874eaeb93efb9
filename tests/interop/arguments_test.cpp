// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Argument lists and shell text from elsewhere, read and never run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/flag_table.hpp"
#include "core/diagnostics.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::ElementsAre;

TEST(ReadArguments, NamesWhatItCannotRead) {
  const FlagTable table = load_flag_table();
  const ReadArguments read =
      read_arguments({"pretrain_gpt.py", "--num-layers", "x", "--no-such-flag",
                      "--moe-token-dispatcher-type", "carrier-pigeon", "--seq-length"},
                     table);
  EXPECT_THAT(read.problems,
              ElementsAre("--num-layers: 'x' is not a whole number", "--no-such-flag: unknown flag",
                          "--moe-token-dispatcher-type: 'carrier-pigeon' is none of allgather, "
                          "alltoall, flex",
                          "--seq-length: needs a value"));
}

TEST(ReadArguments, PatternsAreBounded) {
  EXPECT_THAT(parse_pattern("([1]*2+[0])*2", 100, "f"), ElementsAre(1, 1, 0, 1, 1, 0));
  EXPECT_THAT(parse_pattern("[1, 0, 2]", 100, "f"), ElementsAre(1, 0, 2));
  for (const char* bad :
       {"[1]*1000000000", "([1]", "[1", "1", "", "[1]x", "((((((((((([1])))))))))))"})
    EXPECT_THROW(static_cast<void>(parse_pattern(bad, 100, "f")), ConfigError) << bad;
}

TEST(ReadArguments, ShellTextIsReadNotRun) {
  EXPECT_THAT(shell_words("A=(\n  --x 'a b' # note\n  --y=\"c\"\\\n d)\n"),
              ElementsAre("A=(", "--x", "a b", "--y=c", "d)"));
  EXPECT_THAT(shell_words("$(touch pwned) `id`"), ElementsAre("$(touch", "pwned)", "`id`"));
}

}  // namespace
}  // namespace pleat::interop_test
