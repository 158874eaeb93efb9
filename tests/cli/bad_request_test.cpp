// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Requests that no plan can meet: the exit code, and words that say what would be valid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kDeepSeek{"predict",  "--model",   "deepseek-v3", "--cluster",
                                         "h100-sxm", "--seq-len", "4096"};

Said deepseek(const std::vector<std::string>& more) {
  return run_pleat(kDeepSeek + std::vector<std::string>{"--global-batch", "4096"} + more);
}

TEST(BadRequest, ExpertsOverEp) {
  // 160 experts as in DeepSeek-V2; EP 64 does not divide them.
  std::string config =
      read_text(std::string(PLEAT_SOURCE_DIR) + "/configs/models/deepseek-v3.json");
  const std::string field = "\"n_routed_experts\": 256";
  ASSERT_NE(config.find(field), std::string::npos);
  config.replace(config.find(field), field.size(), "\"n_routed_experts\": 160");
  const std::string file = test_folder() + "/v2.json";
  write_text(file, config);
  const Said run = run_pleat({"predict", "--model", file, "--cluster", "h100-sxm", "--seq-len",
                              "4096", "--global-batch", "4096", "--gpus", "64", "--ep", "64"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("160 experts cannot be split over EP 64"));
  EXPECT_THAT(run.err, HasSubstr("divisors up to 64: 1 2 4 5 8 10 16 20 32 40"));
  EXPECT_EQ(run.out, "");
}

const std::vector<std::string> kSmallPlan{"plan",      "--model",   "mixtral-8x7b",   "--cluster",
                                          "h100-sxm",  "--gpus",    "16",             "--seq-len",
                                          "4096",      "--global-batch", "64"};

TEST(BadRequest, PinsThatAreNoNumbersRangesOrLayouts) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"--tp", "2.."}, "--tp: '2..' is neither a whole number nor a range such as 2..8"},
      {{"--tp", "8..2"}, "--tp: the range 8..2 is empty: 2..8?"},
      {{"--pp", "1,x"}, "--pp: 'x' is neither"},
      {{"--dp", "0..4"}, "--dp: Value 0..4 not in range [1 - 16777216]"},
      {{"--ep", "1..9999"}, "--ep: more than 4096 numbers"},
      {{"--dispatcher", "deepep,foo"}, "'foo' is not one of allgather, alltoall"},
      {{"--layout", "Et*8|t*x"}, "--layout: "},
      {{"--dp", "3"},
       "--dp: attention.dp: dp 3 leaves no valid plan: DP is the rest: 16 GPUs over"},
      // Not a grid of 64 * PP: the pin breaks this rule by itself.
      {{"--ep", "16", "--cp", "1", "--vpp", "1"},
       "--ep: expert.ep: ep 16 leaves no valid plan: 8 experts cannot be split over EP 16"},
      {{"--layout", "Et*16|t*16L", "--pp", "4"},
       "the layout has 2 virtual stages, which PP 4 does not divide"},
      {{"--cuda-graph", "full_iteration"},
       "--cuda-graph: a graph of the whole iteration needs sizes that do not depend on routing"},
      {{"--loss-chunks", "8"},
       "--loss-chunks: the logits of a microbatch are there at once"},
      {{"--paged-stash", "1.1", "--stash-capacity", "1.5"},
       "--paged-stash: a paged stash needs the hybridep dispatcher"},
  };
  for (const auto& [pins, message] : cases) {
    const Said run = run_pleat(kSmallPlan + pins);
    EXPECT_EQ(run.exit_code, 2) << pins[1];
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
}

TEST(BadRequest, FormatsThatTheGpuDoesNotHave) {
  const Said plan = run_pleat(kSmallPlan + std::vector<std::string>{"--precision", "bf16,nvfp4"});
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.err,
              HasSubstr("--precision: the GPU of h100-sxm has no tensor cores for nvfp4"));
  EXPECT_THAT(plan.err,
              HasSubstr("hint: bf16, fp8, fp8_block; --accept-mismatch prices it all the same"));
  std::vector<std::string> predict = kSmallPlan;
  predict.front() = "predict";
  predict = predict + std::vector<std::string>{"--ep", "8", "--precision", "mxfp8"};
  EXPECT_EQ(run_pleat(predict).exit_code, 2);
  EXPECT_EQ(run_pleat(predict + std::vector<std::string>{"--accept-mismatch"}).exit_code, 0);
  EXPECT_EQ(run_pleat(predict + std::vector<std::string>{"--runtime", "pleat"}).exit_code, 0);
  const Said capacity =
      run_pleat({"capacity", "--model", "mixtral-8x7b", "--tokens", "1T", "--deadline", "90d",
                 "--clusters", "a100-sxm", "--gpus", "256", "--precision", "fp8"});
  EXPECT_EQ(capacity.exit_code, 2);
  EXPECT_THAT(capacity.err, HasSubstr("the GPU of a100-sxm has no tensor cores for fp8"));
  EXPECT_EQ(plan.out + capacity.out, "");
}

// The beginning of a name before a name of as many letters.
TEST(BadRequest, SuggestsWhatWasBegun) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"predict", "-c", "h10", "-m", "mixtral-8x7c"}, "did you mean mixtral-8x7b?"},
      {{"predict", "-c", "gb", "-m", "mixtral-8x7b"}, "so begin: gb200-nvl72, gb300-nvl72"},
      {{"predict", "-c", "h100-sxm", "-m", "deepseek"}, "did you mean deepseek-v"},
      {{"plan", "--tpp", "2"}, "did you mean --tp?"},
  };
  for (const auto& [words, message] : cases) {
    const std::vector<std::string> job{"-n", "64", "-s", "4096", "-b", "256"};
    const Said run = run_pleat(words[0] == "plan" ? words : words + job);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

TEST(BadRequest, LaunchOptionsOfAnotherLauncher) {
  const std::string plan = test_folder() + "/plan.json";
  ASSERT_EQ(run_pleat({"predict", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "64", "-s", "4096",
                       "-b", "256", "--ep", "8", "-o", plan})
                .exit_code,
            0);
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"mpirun", "--partition", "gpu"}, "--partition: has no effect with --to mpirun"},
      {{"mpirun", "--namespace", "a"}, "--namespace: has no effect with --to mpirun"},
      {{"mpirun", "--image", "a"}, "--image: has no effect with --to mpirun"},
      {{"kubernetes", "--image", "a", "--qos", "b"}, "--qos: has no effect with --to kubernetes"},
      {{"kubernetes", "--image", "a", "--namespace", "X_Y"}, "--namespace: 'X_Y' is not a name"},
      {{"kubernetes", "--image", "a", "--namespace", "a.b"}, "--namespace: 'a.b' is not a name"},
      {{"kubernetes", "--image", "a", "--claim", "a.-b"}, "--claim: 'a.-b' is not a name"},
      {{"slurm", "--segment", "99"}, "--segment: 8 nodes are no multiple of 99"},
  };
  for (const auto& [words, message] : cases) {
    const Said run = run_pleat(std::vector<std::string>{"launch", plan, "--to"} + words);
    EXPECT_EQ(run.exit_code, 2) << words[1];
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(run_pleat({"launch", plan, "--to", "kubernetes", "--image", "a", "--namespace",
                       "team-1", "--claim", "data.v1"})
                .exit_code,
            0);
  EXPECT_EQ(run_pleat({"launch", plan, "--to", "slurm", "--segment", "4"}).exit_code, 0);
}

TEST(BadRequest, OptionsThatContradictOrSayNothing) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"--no-offload", "--optimizer-offload", "on"}, "--optimizer-offload: has no effect where"},
      {{"--no-offload", "--offload", "core_attn"}, "--offload: has no effect where"},
      {{"--no-recompute", "--recompute-layers", "2"}, "--recompute-layers: has no effect where"},
      {{"--recompute", "moe_act", "--recompute-unit", "2"}, "--recompute has no full"},
      {{"--min-gpus", "8"}, "--min-gpus: has no effect with --objective throughput"},
      {{"--slack", "0.1"}, "--slack: has no effect with --objective throughput"},
      {{"--cp-comm", "p2p", "--cp-a2a", "2"}, "--cp-a2a: has no effect: --cp-comm has no a2a+p2p"},
      {{"--fp8-attention", "on"}, "--fp8-attention: has no effect with --precision bf16"},
      {{"--fp8-head", "any"}, "--fp8-head: has no effect with --precision bf16"},
      {{"--dispatcher", "alltoall,allgather", "--dispatcher-sms", "7"},
       "--dispatcher-sms: has no effect with --dispatcher alltoall,allgather"},
  };
  for (const auto& [options, message] : cases) {
    const Said run = run_pleat(kSmallPlan + options);
    EXPECT_EQ(run.exit_code, 2) << options[0];
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
}

TEST(BadRequest, PlanOptionsThatSayNothing) {
  const std::vector<std::string> job{"predict", "-m", "mixtral-8x7b", "-c", "h100-sxm", "-n", "8",
                                     "-s",      "4096", "-b", "64", "--ep", "8"};
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"--fp8-attention"}, "--fp8-attention: has no effect with --precision bf16"},
      {{"--fp8-head", "--precision", "bf16"}, "--fp8-head: has no effect with --precision bf16"},
      {{"--dispatcher", "alltoall", "--dispatcher-sms", "7"},
       "--dispatcher-sms: has no effect with --dispatcher alltoall"},
  };
  for (const auto& [options, message] : cases) {
    const Said run = run_pleat(job + options);
    EXPECT_EQ(run.exit_code, 2) << options[0];
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
  const std::vector<std::string> said{"--fp8-attention", "--precision", "fp8", "--dispatcher",
                                      "deepep", "--dispatcher-sms", "20"};
  EXPECT_EQ(run_pleat(job + said).exit_code, 0);
}

// NaN is neither below nor above a limit.
TEST(BadRequest, NanIsOutsideOfEveryRange) {
  const std::vector<std::string> plan{"plan", "--model", "mixtral-8x7b", "--cluster", "h100-sxm",
                                      "--gpus", "8", "--seq-len", "4096", "--global-batch", "8"};
  for (const char* option : {"--memory-margin", "--slack", "--time-limit", "--capacity-factor"}) {
    const Said run = run_pleat(plan + std::vector<std::string>{option, "nan"});
    EXPECT_EQ(run.exit_code, 2) << option;
    EXPECT_THAT(run.err, HasSubstr(std::string(option) + ": Value nan not in range [0 - "));
    EXPECT_EQ(run.out, "");
  }
}

TEST(BadRequest, HeadsOverTp) {
  const Said run =
      run_pleat({"predict", "--model", "qwen3-30b-a3b", "--cluster", "h100-sxm", "--gpus", "48",
                 "--seq-len", "4080", "--global-batch", "48", "--tp", "12"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("32 heads with 4 kv groups cannot be split over TP 12"));
  EXPECT_THAT(run.err, HasSubstr("allowed TP: 1 2 4"));
}

TEST(BadRequest, WorldIsNoMultiple) {
  const Said run = deepseek({"--gpus", "96", "--tp", "8", "--pp", "5"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("96 is not a multiple of TP*PP*CP = 40\n  hint: nearest worlds 80, 120"));
}

TEST(BadRequest, ExpertGridIsToldApartFromTheDenseOne) {
  const Said run = deepseek({"--gpus", "64", "--pp", "4", "--ep", "16", "--etp", "2"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("expert grid: 64 is not a multiple of ETP*EP*PP = 2*16*4 = 128"));
  EXPECT_THAT(run.err, HasSubstr("the dense grid TP*CP*DP*PP fits"));
}

TEST(BadRequest, LayersOverStagesOffersALayoutThatWorks) {
  const std::vector<std::string> pipeline{"--gpus", "256", "--pp", "16", "--ep", "8"};
  const Said run = deepseek(pipeline);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("61 layers cannot be split evenly over PP*VPP = 16*1 = 16 stages"));
  const std::string before = "balanced layout: ";
  const std::size_t at = run.err.find(before);
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = at + before.size();
  const std::string layout = run.err.substr(begin, run.err.find('\n', begin) - begin);
  EXPECT_EQ(deepseek(pipeline + std::vector<std::string>{"--layout", layout}).exit_code, 0)
      << layout;
}

TEST(BadRequest, LayoutWithoutLossOrLayers) {
  const std::vector<std::string> two{"--gpus", "256", "--pp", "2", "--ep", "8", "--layout"};
  const Said no_loss = deepseek(two + std::vector<std::string>{"Et*30|t*31m"});
  EXPECT_EQ(no_loss.exit_code, 2);
  EXPECT_THAT(no_loss.err, HasSubstr("no L (loss): the layout ends at position"));
  const Said short_one = deepseek(two + std::vector<std::string>{"Et*30|t*30mL"});
  EXPECT_EQ(short_one.exit_code, 2);
  EXPECT_THAT(short_one.err, HasSubstr("60 decoder layers (t), the model has 61"));
}

TEST(BadRequest, LayoutThatWouldNotFitIntoMemoryIsNotExpanded) {
  const Said run = deepseek({"--gpus", "256", "--pp", "2", "--layout", "t*1000000000"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("expanded layout longer than 100000"));
}

TEST(BadRequest, GlobalBatch) {
  const Said run = run_pleat(kDeepSeek + std::vector<std::string>{"--gpus", "64", "--global-batch",
                                                                 "1000", "--micro-batch", "3"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("1000 is not a multiple of 192"));
  EXPECT_THAT(run.err, HasSubstr("nearest 960, 1152"));
}

TEST(BadRequest, SequenceOverCp) {
  const Said run =
      run_pleat({"predict", "--model", "deepseek-v3", "--cluster", "h100-sxm", "--seq-len", "4095",
                 "--gpus", "64", "--global-batch", "64", "--cp", "4"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("must be a multiple of 2*CP = 8"));
}

TEST(BadRequest, EveryProblemAtOnce) {
  const Said run = deepseek({"--gpus", "256", "--pp", "2", "--ep", "96"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("expert grid: 256"));
  EXPECT_THAT(run.err, HasSubstr("256 experts cannot be split over EP 96"));
  EXPECT_THAT(run.err, HasSubstr("61 layers cannot be split evenly"));
}

// With pins: a small space.
const std::vector<std::string> kNothingFits{"plan",
                                            "--model",
                                            "mixtral-8x7b",
                                            "--cluster",
                                            "h100-sxm",
                                            "--gpus",
                                            "4",
                                            "--seq-len",
                                            "4096",
                                            "--global-batch",
                                            "64",
                                            "--tp",
                                            "1",
                                            "--pp",
                                            "4",
                                            "--ep",
                                            "1",
                                            "--vpp",
                                            "1",
                                            "--micro-batch",
                                            "1",
                                            "--cpu-optimizer",
                                            "off"};

TEST(BadRequest, NothingFitsSaysByHowMuchAndWhatWould) {
  const Said run = run_pleat(kNothingFits);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("the optimizer's step on the CPU allowed"));
  EXPECT_THAT(run.err, HasSubstr("GiB"));
  EXPECT_THAT(run.err, HasSubstr("optimizer"));
  EXPECT_THAT(run.err, HasSubstr("GPUs instead of 4"));
  EXPECT_EQ(run.out, "");
}

// Such pins leave no plan, whatever is enumerated.
TEST(BadRequest, MoreLayersThanTheModelHas) {
  for (const char* flag : {"--recompute-layers", "--recompute-unit", "--offload-layers"}) {
    const Said run = run_pleat(kSmallPlan + std::vector<std::string>{flag, "99"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(std::string(flag) + ": 99 are more than the 32 layers"));
  }
}

TEST(BadRequest, FieldsOfARecipeThatAreThereTwice) {
  const Said run = run_pleat(kSmallPlan + std::vector<std::string>{"--compare", "tp=2,tp=4"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--compare: 'tp' is there twice"));
}

TEST(BadRequest, PinsOfMemoryThatContradict) {
  const Said run = run_pleat({"plan", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--gpus",
                              "4", "--seq-len", "4096", "--global-batch", "64", "--cpu-optimizer",
                              "on", "--optimizer-offload", "on"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--cpu-optimizer: the state cannot both come back"));
}

TEST(BadRequest, MorePlansCertainThanListed) {
  const Said run =
      run_pleat(kSmallPlan + std::vector<std::string>{"--certain", "9", "--top", "2"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--certain: 9 plans are to be certain, 2 are listed"));
}

TEST(BadRequest, NothingFitsAsJson) {
  const Said run = run_pleat(kNothingFits + std::vector<std::string>{"--json"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, HasSubstr("\"changes_that_fit\""));
}

TEST(BadRequest, SchedulesOfTheLearningRate) {
  const auto said = [](const std::vector<std::string>& more) {
    const Said run = run_pleat(
        std::vector<std::string>{"train", "--model", "tiny-moe", "--gpus", "1", "--seq-len", "16",
                                 "--global-batch", "2", "--data", "/dev/null", "--steps", "10"} +
        more);
    EXPECT_EQ(run.exit_code, 2);
    return run.err;
  };
  EXPECT_THAT(
      said({"--lr-decay-style", "sine"}),
      HasSubstr("--lr-decay-style: there is no 'sine'\n  hint: one of constant, linear, cosine"));
  EXPECT_THAT(said({"--lr-decay-style", "cosine", "--lr-warmup-iters", "10"}),
              HasSubstr("--lr-warmup-iters: the warm-up takes 10 of 10 steps"));
  EXPECT_THAT(said({"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "11"}),
              HasSubstr("--lr-wsd-decay-iters: WSD goes down in 11 of 10 steps\n  hint: 1 to 10"));
  EXPECT_THAT(said({"--min-lr", "0.1"}), HasSubstr("--min-lr: 0.1 is above --lr 0.001"));
  EXPECT_THAT(said({"--adam-beta2", "1"}),
              HasSubstr("--adam-beta2: 1 would never take a gradient in"));
}

TEST(BadRequest, GraphsThatASearchDoesNotTry) {
  const std::vector<std::string> request{
      "plan",      "--model", "tiny-moe",       "--cluster", "localhost", "--gpus", "2",
      "--seq-len", "64",      "--global-batch", "4",         "--runtime", "pleat"};
  const Said run = run_pleat(request + std::vector<std::string>{"--cuda-graph", "none,partial"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--cuda-graph: a search for the Pleat runtime tries none"));
  EXPECT_EQ(run_pleat(request + std::vector<std::string>{"--cuda-graph", "none"}).exit_code, 0);
}

TEST(BadRequest, NarrowOutputProjectionOfATiedTable) {
  const Said run = run_pleat({"plan", "--model", "deepspeed-nlg-350m", "--cluster", "b200",
                              "--gpus", "8", "--seq-len", "2048", "--global-batch", "8",
                              "--runtime", "pleat", "--precision", "mxfp8", "--fp8-head", "on"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err,
              HasSubstr("fp8_head: this backend reads a table that is the output projection too"));
}

TEST(BadRequest, DevicesThatAreNotThere) {
  const auto said = [](const std::vector<std::string>& more) {
    const std::string text = std::string(PLEAT_SOURCE_DIR) + "/CMakeLists.txt";
    return run_pleat(std::vector<std::string>{"train", "--model", "tiny-moe", "--gpus", "2",
                                              "--seq-len", "16", "--global-batch", "2", "--steps",
                                              "1", "--data", text} +
                     more);
  };
  const Said nowhere = said({"--device", "cuda"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err,
              HasSubstr("--cluster: with --device cuda it is not said which GPUs these are"));
  const Said on_cpu = said({"--collectives", "nccl"});
  EXPECT_EQ(on_cpu.exit_code, 2);
  EXPECT_THAT(on_cpu.err, HasSubstr("--collectives: NCCL joins GPUs\n  hint: --device cuda"));
  const Said no_nccl = said({"--symmetric-windows"});
  EXPECT_EQ(no_nccl.exit_code, 2);
  EXPECT_THAT(no_nccl.err, HasSubstr("--symmetric-windows: windows are NCCL's, between GPUs\n"
                                     "  hint: --device cuda --collectives nccl"));
  EXPECT_EQ(run_pleat({"calibrate", "--symmetric-windows"}).exit_code, 2);
  const Said any_order = said({"--any-order-attention"});
  EXPECT_EQ(any_order.exit_code, 2);
  EXPECT_THAT(any_order.err,
              HasSubstr("--any-order-attention: the CPU's kernels have one order of sums\n"
                        "  hint: --device cuda"));
  const std::vector<std::string> gpu{"--device", "cuda",      "--cluster",
                                     "h100-sxm", "--runtime", "pleat"};
  const Said narrow = said(gpu + std::vector<std::string>{"--precision", "fp16"});
  EXPECT_EQ(narrow.exit_code, 2);
  EXPECT_THAT(narrow.err, HasSubstr("precision: this backend has no fp16"));
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU";
  const Said none = said(gpu);
  if (none.exit_code == 2) {
    EXPECT_THAT(none.err, HasSubstr("--device: the CUDA kernels are not built"));
  } else {
    EXPECT_EQ(none.exit_code, 5);
    EXPECT_THAT(none.err, HasSubstr("--device: no NVIDIA GPU can be used here"));
  }
}

TEST(BadRequest, HeldOutDataThatIsNotThere) {
  const auto said = [](const std::vector<std::string>& more) {
    const std::string text = std::string(PLEAT_SOURCE_DIR) + "/CMakeLists.txt";
    const Said run = run_pleat(std::vector<std::string>{"train", "--model", "tiny-moe", "--gpus",
                                                        "1", "--seq-len", "16", "--global-batch",
                                                        "2", "--data", text} +
                               more);
    EXPECT_EQ(run.exit_code, 2);
    return run.err;
  };
  EXPECT_THAT(
      said({"--eval-iters", "2"}),
      HasSubstr(
          "--eval-iters: --split 1 leaves no data for validation\n  hint: --valid-data FILE"));
  EXPECT_THAT(said({"--eval-interval", "2"}), HasSubstr("hint: --eval-iters N"));
  EXPECT_THAT(said({"--valid-data", "/dev/null"}), HasSubstr("--valid-data: how many batches"));
}

}  // namespace
}  // namespace pleat::cli_test
