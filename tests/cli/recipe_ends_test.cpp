// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// More ways in which a recipe of Megatron-Bridge in Python may end (recipe_test.cpp has the usual).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/import_recipe.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

TEST(RecipeEnds, AVariableWithAConfigurationWillDo) {
  const Said run = import_recipe(kImport + "cfg = ConfigContainer()\n");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Said none = import_recipe("x = 1\n");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("has no function without arguments"));
}

TEST(RecipeEnds, WhatItRaisesIsSaidWithItsLine) {
  const Said raised = import_recipe("def f():\n    raise ValueError('no such\\nmodel')\n");
  EXPECT_EQ(raised.exit_code, 2);
  EXPECT_THAT(raised.err, HasSubstr("raised ValueError: no such model (line 2)"));
  EXPECT_THAT(import_recipe("def f(:\n").err, HasSubstr("SyntaxError"));
  EXPECT_THAT(import_recipe("import sys\nsys.exit(3)\n").err,
              HasSubstr("it calls sys.exit(3) (line 2)"));
  EXPECT_THAT(import_recipe("def f():\n    return 4\n").err,
              HasSubstr("f is a builtins.int, which has no `model` and `train`"));
  const Said died = import_recipe(
      "import os, sys\ndef f():\n    print('out of luck', file=sys.stderr, flush=True)\n"
      "    os._exit(7)\n");
  EXPECT_EQ(died.exit_code, 2);
  EXPECT_THAT(died.err, HasSubstr("its process ended with code 7: out of luck"));
  const Said killed = import_recipe("import os\ndef f():\n    os.kill(os.getpid(), 9)\n");
  EXPECT_THAT(killed.err, HasSubstr("its process was ended by signal 9"));
}

// What it leaves behind holds the answer open.
TEST(RecipeEnds, DoesNotWaitForWhatItStarted) {
  const Said run = import_recipe(kImport +
                                   "import os, time\ndef f():\n    if os.fork() == 0:\n"
                                   "        time.sleep(300)\n    return ConfigContainer()\n",
                               {"--recipe-time", "1m"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

}  // namespace
}  // namespace pleat::cli_test
