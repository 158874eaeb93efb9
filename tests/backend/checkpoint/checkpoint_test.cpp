// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Saving and going on: to the bit in the same layout, numerically in another one.
#include <gmock/gmock.h>

#include "backend/checkpoint/hf_weights.hpp"
#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::in_bf16;

using test::fp32_plan;
using test::SavedRun;
using test::TemporaryFolder;
using test::tp_plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string remarks;
std::vector<std::string> names_of(const std::string& root) {
  remarks.clear();
  return checkpoints_in(root, remarks);
}

Plan without_sharding(Plan plan) {
  plan.sharding = Sharding::none;
  return plan;
}

ExitCode code_of(SavedRun& run) {
  try {
    (void)run.run();
  } catch (const ConfigError& e) {
    run.messages.emplace_back(e.what());
    return e.exit_code();
  }
  return ExitCode::done;
}

Plan nvfp4(Plan plan) {
  plan.precision = Precision::nvfp4;
  return plan;
}

Plan delayed_scaling(Plan plan) {
  plan.precision = Precision::fp8_delayed;
  return plan;
}

// Codes in the place of weights, halves of main parameters, the CPU's step.
Plan kept_narrow(Plan plan) {
  plan.precision = Precision::mxfp8;
  plan.optimizer.cpu_offload = 0.4;
  return plan;
}

Plan halves(Plan plan) {
  plan.precision = Precision::bf16;
  plan.optimizer.main_params = DType::remainder16;
  plan.optimizer.exp_avg = DType::fp8;
  plan.optimizer.state_offload = 0.4;
  return plan;
}

struct Resumed {
  const char* name;
  Plan plan;
  bool background = false;
};
void PrintTo(const Resumed& r, std::ostream* out) { *out << r.name; }

class Resume : public ::testing::TestWithParam<Resumed> {};

TEST_P(Resume, IsBitwiseAnUninterruptedRun) {
  const auto& [name, plan, background] = GetParam();
  const TemporaryFolder whole, broken;
  SavedRun straight{.plan = plan, .steps = 6, .save = whole.path()};
  const TrainResult expected = straight.run();
  SavedRun first{.plan = plan, .steps = 3, .save = broken.path(), .background = background};
  (void)first.run();
  SavedRun second{.plan = plan,
                  .steps = 6,
                  .save = broken.path(),
                  .load = broken.path(),
                  .background = background};
  const TrainResult actual = second.run();
  ASSERT_EQ(actual.steps.size(), 3U);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(actual.steps[s].loss, expected.steps[s + 3].loss);
    EXPECT_EQ(actual.steps[s].grad_norm, expected.steps[s + 3].grad_norm);
  }
  test::expect_same_bits(actual.weights, expected.weights);
  test::expect_same_bits(test::tensors_in(broken / "step_00000006"),
                         test::tensors_in(whole / "step_00000006"));
  EXPECT_THAT(second.messages.front(), HasSubstr("going on after step 3"));
}

INSTANTIATE_TEST_SUITE_P(Plans, Resume,
                         ::testing::Values(Resumed{"Fp32", fp32_plan()},
                                           Resumed{"DP2_PP2_EP2", fp32_plan(2, 2, 2)},
                                           Resumed{"InBackground", fp32_plan(2, 2, 2), true},
                                           Resumed{"Bf16", in_bf16(fp32_plan(2, 2, 2))},
                                           Resumed{"TP2_Bf16", in_bf16(tp_plan(2, 2, 4)), true},
                                           Resumed{"Nvfp4", nvfp4(fp32_plan(2, 2, 2))},
                                           Resumed{"Delayed", delayed_scaling(tp_plan(2, 2, 4))},
                                           Resumed{"KeptNarrow", kept_narrow(fp32_plan(2, 2, 2))},
                                           Resumed{"Halves", halves(fp32_plan(4, 2)), true},
                                           Resumed{"Unsharded", without_sharding(fp32_plan(4, 2))},
                                           Resumed{"EP4", fp32_plan(4, 4), true},
                                           Resumed{"TP4", tp_plan(4, 2, 4), true}),
                         [](const auto& i) { return std::string(i.param.name); });

// Beside each bf16 weight its fp32 one; what a router adds to its scores is in fp32 throughout.
TEST(Checkpoint, HoldsBf16WeightsAndWhatTheyAreRoundedFrom) {
  const TemporaryFolder folder;
  SavedRun run{.model = test::biased(test::small_moe()),
               .plan = in_bf16(fp32_plan(2, 2)),
               .steps = 2,
               .save = folder.path()};
  run.config.adamw.lr = 0.01;
  (void)run.run();
  const std::string saved = folder / "step_00000002";
  const Manifest manifest = open_checkpoint(saved);
  EXPECT_EQ(manifest.tensors.at("weight/layers.2.qkv").type, ElementType::bf16);
  EXPECT_EQ(manifest.tensors.at("main/layers.2.qkv").type, ElementType::f32);
  EXPECT_EQ(manifest.tensors.at("weight/layers.2.expert_bias").type, ElementType::f32);
  EXPECT_FALSE(manifest.tensors.contains("main/layers.2.expert_bias"));
  const test::Tensors tensors = test::tensors_in(saved);
  std::size_t finer = 0;
  for (const auto& [name, values] : tensors) {
    if (!name.starts_with("main/")) continue;
    const std::vector<float>& weights = tensors.at("weight/" + name.substr(5));
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(to_float(to_bf16(values[i])), weights[i]) << name;
      if (values[i] != weights[i]) ++finer;
    }
  }
  EXPECT_GT(finer, 1000U);
  // Weights alone are read in full precision, and one precision goes on from another.
  std::vector<float> head(tensors.at("main/head").size());
  SavedWeights(saved).read("head", head);
  EXPECT_EQ(head, tensors.at("main/head"));
  SavedRun wide{.model = run.model, .plan = fp32_plan(), .steps = 3, .load = folder.path()};
  wide.config.adamw.lr = 0;
  EXPECT_EQ(wide.run().weights.at("head"), head);
}

// The weights that training read are the ones that an export in bf16 has.
TEST(Checkpoint, ExportsTheBf16Weights) {
  const TemporaryFolder folder, exported;
  SavedRun run{.plan = in_bf16(fp32_plan(2, 2)), .steps = 1, .save = folder.path()};
  run.model.model_type = "qwen2_moe";
  (void)run.run();
  const std::string saved = folder / "step_00000001";
  const SavedWeights weights(saved);
  export_hf_weights(
      exported.path(), run.model, {.type = ElementType::bf16},
      [&](const std::string& name, std::span<float> out) { weights.read(name, out); });
  const HfWeights read(exported.path(), run.model);
  const test::Tensors tensors = test::tensors_in(saved);
  for (const char* name : {"embedding", "layers.0.qkv", "layers.2.experts.7.fc2", "head"}) {
    const std::vector<float>& expected = tensors.at(std::string("weight/") + name);
    std::vector<float> actual(expected.size());
    read.read(name, actual);
    EXPECT_EQ(actual, expected) << name;
  }
}

// Each element of each tensor is in one shard, whatever the layout, and has the same bits.
TEST(Checkpoint, HoldsTheSameTensorsForEveryLayout) {
  const auto saved = [](const Plan& plan) {
    const TemporaryFolder folder;
    SavedRun run{
        .model = test::biased(test::small_moe()), .plan = plan, .steps = 1, .save = folder.path()};
    (void)run.run();
    const Manifest manifest = open_checkpoint(folder / "step_00000001");
    for (const auto& [name, tensor] : manifest.tensors) {
      std::int64_t elements = 0;
      for (const TensorPart& part : tensor.parts) {
        for (const RunPattern& r : part.runs) elements += r.total();
      }
      EXPECT_EQ(elements, tensor.elements) << name;
    }
    return test::tensors_in(folder / "step_00000001");
  };
  const test::Tensors one = saved(fp32_plan());
  EXPECT_TRUE(one.contains("weight/layers.2.expert_bias"));
  EXPECT_TRUE(one.contains("exp_avg_sq/layers.3.experts.7.fc2"));
  for (const Plan& plan : {fp32_plan(2, 2, 2), fp32_plan(8, 4), tp_plan(4, 2, 4),
                           tp_plan(2, 2, 2, 2), without_sharding(fp32_plan(4, 2))}) {
    test::expect_close(saved(plan), one, 1e-5);
  }
}

TEST(Reshard, AnyLayoutGoesOnFromAnyOther) {
  const std::vector<Plan> plans{fp32_plan(), fp32_plan(4, 4), fp32_plan(2, 2, 2),
                                without_sharding(fp32_plan(2, 1, 4)), tp_plan(4, 2, 4)};
  const TemporaryFolder folder;
  SavedRun reference{.steps = 4};
  const TrainResult expected = reference.run();
  for (const Plan& from : plans) {
    const std::string path = folder / ("from" + std::to_string(&from - plans.data()));
    SavedRun saving{.plan = from, .steps = 2, .save = path};
    std::filesystem::create_directory(path);
    (void)saving.run();
    for (const Plan& to : plans) {
      SavedRun loading{.plan = to, .steps = 4, .load = path};
      const TrainResult actual = loading.run();
      SCOPED_TRACE(summary(from) + " to " + summary(to));
      ASSERT_EQ(actual.steps.size(), 2U);
      EXPECT_NEAR(actual.steps[1].loss, expected.steps[3].loss, 1e-5 * expected.steps[3].loss);
      // Adam turns the smallest differences of gradients near zero into whole steps.
      test::expect_close(actual.weights, expected.weights, 2e-4);
      if (from != to) {
        EXPECT_THAT(loading.messages.front(), HasSubstr("saved by " + summary(from)));
      }
    }
  }
}

// Loading alone changes no bit, also into another layout.
TEST(Reshard, KeepsEveryBit) {
  const TemporaryFolder a, b;
  SavedRun first{.plan = fp32_plan(2, 2, 2), .steps = 2, .save = a.path()};
  (void)first.run();
  SavedRun second{.plan = tp_plan(2, 2, 2, 2), .steps = 3, .save = b.path(), .load = a.path()};
  second.config.adamw.lr = 0;
  (void)second.run();
  const test::Tensors before = test::tensors_in(a / "step_00000002");
  for (const auto& [name, values] : test::tensors_in(b / "step_00000003")) {
    if (!name.starts_with("weight/")) continue;
    EXPECT_EQ(values, before.at(name)) << name;
  }
}

TEST(Checkpoint, KeepsTheNewestAndPointsToTheLast) {
  const TemporaryFolder folder;
  SavedRun run{.steps = 7, .save = folder.path(), .every = 2, .keep = 2};
  (void)run.run();
  EXPECT_THAT(names_of(folder.path()), ElementsAre("step_00000007", "step_00000006"));
  EXPECT_EQ(remarks, "");
  EXPECT_EQ(test::read_bytes(folder / "LATEST"), "step_00000007\n");
}

// --- damage

class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    SavedRun run{.plan = fp32_plan(2, 2), .steps = 4, .save = folder_.path(), .every = 2};
    (void)run.run();
  }
  std::string goes_on() {
    SavedRun run{.plan = fp32_plan(2, 2), .steps = 5, .load = folder_.path()};
    const ExitCode code = code_of(run);
    std::string text = std::to_string(static_cast<int>(code));
    for (const std::string& message : run.messages) text += " | " + message;
    return text;
  }
  void change(const std::string& name, const std::function<void(std::string&)>& how) {
    std::string bytes = test::read_bytes(folder_ / name);
    ASSERT_FALSE(bytes.empty());
    how(bytes);
    test::write_bytes(folder_ / name, bytes);
  }
  const TemporaryFolder folder_;
};

TEST_F(Damaged, AFlippedBitAnywhereIsFound) {
  for (const char* file : {"shard_00000.safetensors", "shard_00001.safetensors", "plan.json"}) {
    const std::string name = std::string("step_00000004/") + file;
    const std::string good = test::read_bytes(folder_ / name);
    for (std::size_t at : {std::size_t{0}, std::size_t{9}, good.size() / 2, good.size() - 1}) {
      change(name, [&](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 4); });
      const std::string said = goes_on();
      EXPECT_THAT(said, HasSubstr("not those that were saved")) << name << " " << at;
      EXPECT_THAT(said, HasSubstr("0 | damaged")) << name << " " << at;
      EXPECT_THAT(said, HasSubstr("going on after step 2"));
      test::write_bytes(folder_ / name, good);
    }
  }
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 4"));
}

TEST_F(Damaged, TruncatedMissingSwappedAndOlderShardsAreFound) {
  const std::string one = "step_00000004/shard_00000.safetensors",
                    two = "step_00000004/shard_00001.safetensors";
  const std::string first = test::read_bytes(folder_ / one),
                    second = test::read_bytes(folder_ / two);
  test::write_bytes(folder_ / two, second.substr(0, second.size() - 1));
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 2"));
  test::write_bytes(folder_ / two, first);
  test::write_bytes(folder_ / one, second);
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 2"));
  test::write_bytes(folder_ / one, first);
  test::write_bytes(folder_ / two,
                    test::read_bytes(folder_ / "step_00000002/shard_00001.safetensors"));
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 2"));
  std::filesystem::remove(folder_ / two);
  EXPECT_THAT(goes_on(), HasSubstr("is missing"));
  std::filesystem::create_symlink(folder_ / "step_00000002/shard_00001.safetensors", folder_ / two);
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 2"));
}

TEST_F(Damaged, ABrokenManifestIsPassedOver) {
  for (const char* text : {"", "{", "{}", "[]", "{\"schema_version\": 2}"}) {
    test::write_bytes(folder_ / "step_00000004/manifest.json", text);
    EXPECT_THAT(goes_on(), HasSubstr("going on after step 2")) << text;
  }
  std::filesystem::remove(folder_ / "step_00000004/manifest.json");
  EXPECT_THAT(goes_on(), HasSubstr("going on after step 2"));
}

TEST_F(Damaged, LatestIsOnlyAHint) {
  for (const char* text : {"step_00000002\n", "step_9\n", "", "../../etc\n", "step_00000099\n"}) {
    test::write_bytes(folder_ / "LATEST", text);
    const bool names_older = std::string(text) == "step_00000002\n";
    const std::string said = goes_on();
    EXPECT_THAT(said, HasSubstr(names_older ? "after step 2" : "after step 4")) << text;
    EXPECT_EQ(said.find("LATEST") == std::string::npos, names_older) << text;
  }
  std::filesystem::remove(folder_ / "LATEST");
  EXPECT_THAT(goes_on(), HasSubstr("LATEST: is missing"));
}

TEST_F(Damaged, WithoutAWholeCheckpointTrainingDoesNotStart) {
  for (const char* step : {"2", "4"}) {
    change(std::string("step_0000000") + step + "/plan.json", [](std::string& b) { b += ' '; });
  }
  const std::string said = goes_on();
  EXPECT_THAT(said, HasSubstr("6 | "));
  EXPECT_THAT(said, HasSubstr("every checkpoint is damaged"));
}

TEST_F(Damaged, AnotherModelOrBatchIsRefused) {
  SavedRun other{
      .model = test::biased(test::small_moe()), .plan = fp32_plan(2, 2), .load = folder_.path()};
  EXPECT_EQ(code_of(other), ExitCode::verification);
  EXPECT_THAT(other.messages.back(), HasSubstr("another model"));
}

// --- saves that fail

TEST(FailedSave, TrainingGoesOnAndStopsAfterTheLimit) {
  const TemporaryFolder folder;
  SavedRun run{.plan = fp32_plan(2, 2), .steps = 6, .save = folder / "gone", .every = 1};
  EXPECT_EQ(code_of(run), ExitCode::device_or_io);  // the folder is not there
  ASSERT_EQ(run.messages.size(), 4U);
  EXPECT_THAT(run.messages[0], HasSubstr("the checkpoint of step 1 was not saved"));
  EXPECT_THAT(run.messages[3], HasSubstr("3 checkpoints in a row could not be saved"));
}

TEST(FailedSave, OneFailureIsOnlyAWarning) {
  const TemporaryFolder folder;
  const std::string path = folder / "late";
  SavedRun run{.plan = fp32_plan(2, 2), .steps = 3, .save = path, .every = 1};
  run.config.on_step = [&](int step, const StepRecord&) {
    if (step == 1) std::filesystem::create_directory(path);
  };
  EXPECT_EQ(code_of(run), ExitCode::done);
  EXPECT_EQ(run.messages.size(), 1U);
  EXPECT_EQ(names_of(path).size(), 2U);
}

TEST(SaveLock, OneJobSavesIntoAFolder) {
  const TemporaryFolder folder;
  const SaveLock lock(folder / "deep/er");
  try {
    const SaveLock again(folder / "deep/er");
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::refused);
    EXPECT_THAT(e.what(), HasSubstr("process"));
  }
}

}  // namespace
}  // namespace pleat
