// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// More ways in which a recipe of Megatron-Bridge in Python may end (recipe_test.cpp has the usual).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

const std::string kBridge =
    "PYTHONPATH=" + std::string(PLEAT_SOURCE_DIR) + "/tests/cli/bridge_stand_in";
const std::string kContainer = "from megatron.bridge.training.config import ConfigContainer\n";

std::string file_of_recipe(const std::string& text) {
  const std::string file = test_folder() + "/recipe.py";
  write_text(file, text);
  return file;
}

Said read_recipe(const std::string& text, const std::vector<std::string>& more = {}) {
  const std::vector<std::string> words{"import", "megatron-bridge", file_of_recipe(text), "--gpus",
                                       "32"};
  return run_pleat_with({kBridge, "PYTHONDONTWRITEBYTECODE=1"}, words + more);
}

TEST(RecipeEnds, AVariableWithAConfigurationWillDo) {
  const Said run = read_recipe(kContainer + "cfg = ConfigContainer()\n");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Said none = read_recipe("x = 1\n");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("has no function without arguments"));
}

TEST(RecipeEnds, WhatItRaisesIsSaidWithItsLine) {
  const Said raised = read_recipe("def f():\n    raise ValueError('no such\\nmodel')\n");
  EXPECT_EQ(raised.exit_code, 2);
  EXPECT_THAT(raised.err, HasSubstr("raised ValueError: no such model (line 2)"));
  EXPECT_THAT(read_recipe("def f(:\n").err, HasSubstr("SyntaxError"));
  EXPECT_THAT(read_recipe("import sys\nsys.exit(3)\n").err,
              HasSubstr("it calls sys.exit(3) (line 2)"));
  EXPECT_THAT(read_recipe("def f():\n    return 4\n").err,
              HasSubstr("f is a builtins.int, which has no `model` and `train`"));
  const Said died = read_recipe(
      "import os, sys\ndef f():\n    print('out of luck', file=sys.stderr, flush=True)\n"
      "    os._exit(7)\n");
  EXPECT_EQ(died.exit_code, 2);
  EXPECT_THAT(died.err, HasSubstr("its process ended with code 7: out of luck"));
  const Said killed = read_recipe("import os\ndef f():\n    os.kill(os.getpid(), 9)\n");
  EXPECT_THAT(killed.err, HasSubstr("its process was ended by signal 9"));
}

// What it leaves behind holds the answer open.
TEST(RecipeEnds, DoesNotWaitForWhatItStarted) {
  const Said run = read_recipe(kContainer +
                                   "import os, time\ndef f():\n    if os.fork() == 0:\n"
                                   "        time.sleep(300)\n    return ConfigContainer()\n",
                               {"--recipe-time", "1m"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

}  // namespace
}  // namespace pleat::cli_test
