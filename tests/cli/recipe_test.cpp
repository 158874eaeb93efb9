// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron-Bridge in Python, with a stand-in for its package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/json/json_value.hpp"
#include "tests/cli/import_recipe.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRecipe = kImport +
                            "def helper(x):\n"
                            "    return x\n"
                            "def our_config() -> ConfigContainer:\n"
                            "    c = ConfigContainer()\n"
                            "    print('noise' * 50000)\n"
                            "    c.model.tensor_model_parallel_size = 2\n"
                            "    c.model.sequence_parallel = True\n"
                            "    c.model.pipeline_model_parallel_size = 2\n"
                            "    c.model.expert_model_parallel_size = 8\n"
                            "    c.model.recompute_granularity = 'selective'\n"
                            "    c.model.recompute_modules = ['moe_act']\n"
                            "    c.mixed_precision = 'bf16_with_fp8_current_scaling_mixed'\n"
                            "    return c\n";

TEST(Recipe, IsRunAndItsConfigurationIsThePlan) {
  const Said run = import_recipe(kRecipe);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue root = parse_json(run.out, "out");
  const JsonValue& plan = *root.find("plan");
  EXPECT_THAT(run.out, Not(HasSubstr("noise")));
  EXPECT_THAT(plan.dump(), AllOf(HasSubstr("\"tp\": 2"), HasSubstr("\"pp\": 2"),
                                 HasSubstr("\"ep\": 8"), HasSubstr("moe_act")));
  EXPECT_THAT(run.out, AllOf(HasSubstr("fp8"), HasSubstr("151936")));
}

TEST(Recipe, IsImprovedAndGetsNoPatch) {
  const Said run = run_pleat_with({kStandIn, "PYTHONDONTWRITEBYTECODE=1"},
                                  {"improve", recipe_file(kRecipe), "--gpus", "32", "--seconds",
                                   "0.2", "--changes", "1", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("Megatron-Bridge"), Not(HasSubstr("\"patch\""))));
}

TEST(Recipe, OneOfSeveralIsChosenByName) {
  const std::string two = kImport +
                          "def small() -> ConfigContainer:\n    return ConfigContainer()\n"
                          "def large() -> 'ConfigContainer':\n    c = ConfigContainer()\n"
                          "    c.train.global_batch_size = 512\n    return c\n"
                          "def other(x) -> ConfigContainer:\n    return x\n"
                          "ready = large()\n";
  const Said run = import_recipe(two);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("recipe.py has 2 recipes"),
                             HasSubstr("--recipe with one of small, large")));
  EXPECT_THAT(import_recipe(two, {"--recipe", "large"}).out, HasSubstr("\"global_batch\": 512"));
  EXPECT_THAT(import_recipe(two, {"--recipe", "ready"}).out, HasSubstr("\"global_batch\": 512"));
  const Said none = import_recipe(two, {"--recipe", "medium"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("has no medium"), HasSubstr("small, large")));
}

TEST(Recipe, IsToldTheGpuOfTheClusterWhereThereIsNone) {
  const std::string asks = kImport +
                           "import torch\ndef f():\n    c = ConfigContainer()\n"
                           "    gpu = torch.cuda.get_device_properties(0)\n"
                           "    c.train.global_batch_size = 32 * gpu.major\n"
                           "    assert gpu.name == 'NVIDIA B200' or gpu.major == 9, gpu.name\n"
                           "    c.optimizer.exp_avg_dtype = torch.bfloat16\n    return c\n";
  const Said hopper = import_recipe(asks);
  EXPECT_THAT(hopper.out, HasSubstr("\"global_batch\": 288")) << hopper.err;
  const Said blackwell = import_recipe(asks, {"-c", "b200"});
  EXPECT_THAT(blackwell.out, HasSubstr("\"global_batch\": 320")) << blackwell.err;
}

TEST(Recipe, IsKilledWithItsChildrenWhenItHangs) {
  const std::string sign = test_folder() + "/child";
  const auto begin = std::chrono::steady_clock::now();
  const Said run = import_recipe(
      "import subprocess, time\ndef f():\n    c = subprocess.Popen(['sleep', '300'])\n    open('" +
          sign + "', 'w').write(str(c.pid))\n    time.sleep(300)\n",
      {"--recipe-time", "2s"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("was killed: it ran longer than 2 s"), HasSubstr("--recipe-time")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  // The kernel may take a moment.
  const std::string file = "/proc/" + read_text(sign) + "/stat";
  const auto lives = [&] {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text);
    return !text.empty() && text.find(") Z ") == std::string::npos;
  };
  for (int n = 0; n < 100 && lives(); ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(lives());
}

TEST(Recipe, WithoutThePackageTheCommandIsNamed) {
  const std::string file = recipe_file(kRecipe);
  const Said run = run_pleat({"import", "megatron-bridge", file});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("has no megatron.bridge"), HasSubstr("--python"),
                             HasSubstr("['our_config']().to_yaml('run_config.yaml')"),
                             HasSubstr("run_config.yaml beside a run's checkpoints")));
  const Said none = run_pleat({"import", "megatron-bridge", file, "--python", "/nowhere/python"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no /nowhere/python to run it"));
  const Said named = run_pleat_with({"PLEAT_PYTHON=/nowhere/else"}, {"improve", file});
  EXPECT_THAT(named.err, HasSubstr("there is no /nowhere/else to run it"));
  EXPECT_EQ(run_pleat({"import", "megatron-bridge", test_folder() + "/none.py"}).exit_code, 5);
}

}  // namespace
}  // namespace pleat::cli_test
