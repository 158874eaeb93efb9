// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat train` killed at every point of a save and of a step, out of disk, stopped by SIGTERM:
// what is left is whole, and going on gives the bits of a run that nobody disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kModel = R"({"model_type": "mixtral", "hidden_size": 32, "vocab_size": 128,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
  "intermediate_size": 48, "num_local_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-6,
  "tie_word_embeddings": false, "hidden_act": "silu", "rope_theta": 10000.0})";

class TrainCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ + "/config.json", kModel);
    std::string text;
    for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + i * i % 23);
    write_text(folder_ + "/text", text);
  }
  void TearDown() override { ::unsetenv("PLEAT_FAILPOINT"); }

  // Two ranks, each with half of the experts and of the optimizer's state.
  [[nodiscard]] Said train(const std::string& save, int steps,
                           const std::vector<std::string>& more = {}) const {
    return run_pleat(command(save, steps) + more);
  }
  [[nodiscard]] std::vector<std::string> command(const std::string& save, int steps,
                                                 const std::string& every = "2") const {
    return {"train",
            "--model",
            folder_ + "/config.json",
            "--data",
            folder_ + "/text",
            "--order-samples",
            "400000",
            "--gpus",
            "2",
            "--ep",
            "2",
            "--precision",
            "fp32",
            "--sharding",
            "zero1",
            "--seq-len",
            "16",
            "--global-batch",
            "4",
            "--steps",
            std::to_string(steps),
            "--save",
            folder_ + "/" + save,
            "--save-every",
            every,
            "--keep",
            "2"};
  }
  void expect_same(const std::string& save, const std::string& step) const {
    const std::string a = folder_ + "/" + save + "/" + step, b = folder_ + "/whole/" + step;
    ASSERT_EQ(files_in(a), files_in(b));
    for (const std::string& file : files_in(b)) {
      EXPECT_EQ(read_text(a + "/" + file), read_text(b + "/" + file)) << file;
    }
  }

  const std::string folder_ = test_folder();
};

TEST_F(TrainCheckpoint, KillNineAnywhereAndGoOn) {
  ASSERT_EQ(train("whole", 6).exit_code, 0);
  const std::vector<std::string> save{"ckpt.before_folder",       "ckpt.after_folder",
                                      "ckpt.before_shard:rank=1", "ckpt.half_shard:rank=0",
                                      "ckpt.half_shard:rank=1",   "ckpt.before_sync:rank=0",
                                      "ckpt.after_shard:rank=1",  "ckpt.before_manifest",
                                      "ckpt.after_manifest",      "ckpt.before_rename",
                                      "ckpt.after_rename",        "ckpt.before_latest",
                                      "ckpt.after_latest",        "ckpt.done"};
  // By then the save of step 2 is done, in the background too.
  const std::vector<std::string> step{"op.attn:rank=0:step=5", "op.dispatch:rank=1:step=5",
                                      "op.experts.fc1.wgrad:rank=0:step=5",
                                      "op.dense.adamw:rank=1:step=5", "op.clip:rank=0:step=5"};
  std::vector<std::string> points;
  for (const std::string& point : save) points.push_back(point + ":step=4");
  points.push_back("ckpt.removing:step=6");
  points.insert(points.end(), step.begin(), step.end());
  for (std::size_t i = 0; i < points.size(); ++i) {
    SCOPED_TRACE(points[i]);
    const std::string name = "killed" + std::to_string(i);
    const std::vector<std::string> how =
        i % 2 == 0 ? std::vector<std::string>{} : std::vector<std::string>{"--async-save"};
    ::setenv("PLEAT_FAILPOINT", points[i].c_str(), 1);
    EXPECT_EQ(train(name, 6, how).exit_code, -SIGKILL);
    ::unsetenv("PLEAT_FAILPOINT");
    const Said again = train(name, 6, how + std::vector<std::string>{"--resume"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("going on after step ")) << again.err;
    EXPECT_EQ(again.err.find("damaged"), std::string::npos) << again.err;
    expect_same(name, "step_00000004");
    expect_same(name, "step_00000006");
    EXPECT_THAT(files_in(folder_ + "/" + name),
                ElementsAre("LATEST", "lock", "step_00000004", "step_00000006"));
  }
}

// Every rank a process of its own: one is killed, the others end and name it, all go on together.
TEST_F(TrainCheckpoint, KillNineOfOneProcessAndGoOn) {
  ASSERT_EQ(train("whole", 6).exit_code, 0);
  const std::vector<std::string> processes{"--transport", "tcp"};
  int i = 0;
  for (const auto& [point, rank] : std::vector<std::pair<std::string, std::string>>{
           {"ckpt.half_shard:rank=1:step=4", "rank 1"},
           {"ckpt.before_rename:step=4", "rank 0"},
           {"ckpt.after_rename:step=4", "rank 0"},
           {"op.attn:rank=0:step=5", "rank 0"},
           {"op.dispatch:rank=1:step=5", "rank 1"},
           {"op.dense.adamw:rank=1:step=5", "rank 1"}}) {
    SCOPED_TRACE(point);
    const std::string name = "lost" + std::to_string(i++);
    ::setenv("PLEAT_FAILPOINT", point.c_str(), 1);
    const Said killed = train(name, 6, processes);
    ::unsetenv("PLEAT_FAILPOINT");
    EXPECT_NE(killed.exit_code, 0);
    EXPECT_THAT(killed.err, HasSubstr(rank));
    const Said again = train(name, 6, processes + std::vector<std::string>{"--resume"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("going on after step "));
    expect_same(name, "step_00000006");
  }
}

TEST_F(TrainCheckpoint, AFullDiskCostsTheSaveOnly) {
  ASSERT_EQ(train("whole", 4).exit_code, 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100'000, before.rlim_max};  // a shard is larger
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Said run = train("full", 4);
  const Said stops = run_pleat(command("fuller", 9, "1"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(run.exit_code, 5);  // the last one too
  EXPECT_THAT(run.err, HasSubstr("warning: the checkpoint of step 2 was not saved"));
  EXPECT_THAT(run.err, HasSubstr("File too large"));
  EXPECT_THAT(run.out, HasSubstr("step    3"));
  EXPECT_EQ(stops.exit_code, 5);
  EXPECT_THAT(stops.err, HasSubstr("3 checkpoints in a row could not be saved"));
  EXPECT_THAT(files_in(folder_ + "/full"), ElementsAre("lock"));
}

// One rank's disk fails: no rank keeps the save, the one before it stays, training goes on.
TEST_F(TrainCheckpoint, AFailedShardFailsTheSaveOfAllRanks) {
  ASSERT_EQ(train("whole", 6).exit_code, 0);
  for (const char* point :
       {"ckpt.half_shard:rank=1:step=4:error", "ckpt.before_manifest:step=4:error",
        "ckpt.before_rename:step=4:error", "ckpt.after_folder:step=4:error"}) {
    ::setenv("PLEAT_FAILPOINT", point, 1);
    std::filesystem::remove_all(folder_ + "/one");
    const Said run = train("one", 6);
    EXPECT_EQ(run.exit_code, 0) << point;
    EXPECT_THAT(run.err, HasSubstr("warning: the checkpoint of step 4 was not saved"));
    EXPECT_THAT(files_in(folder_ + "/one"),
                ElementsAre("LATEST", "lock", "step_00000002", "step_00000006"));
    expect_same("one", "step_00000006");
  }
}

TEST_F(TrainCheckpoint, CtrlCSaves) {
  const Said run = interrupt_pleat(command("interrupted", 100'000), "step    2");
  EXPECT_EQ(run.exit_code, 130) << run.err;
  const std::vector<std::string> files = files_in(folder_ + "/interrupted");
  const int done = std::atoi(files.back().substr(5).c_str());
  ASSERT_GE(done, 3);
  const Said on = train("interrupted", done + 1, {"--resume"});
  EXPECT_THAT(on.err, HasSubstr("going on after step " + std::to_string(done)));
}

TEST_F(TrainCheckpoint, SigtermSavesAndSaysSo) {
  const Said run = disturb_pleat(command("stopped", 100'000), "step    2",
                                 [](pid_t process) { ::kill(process, SIGTERM); });
  EXPECT_EQ(run.exit_code, 75) << run.err;
  const std::vector<std::string> files = files_in(folder_ + "/stopped");
  const int done = std::atoi(files.back().substr(5).c_str());
  ASSERT_GE(done, 3);
  const Said on = train("stopped", done + 1, {"--resume"});
  EXPECT_EQ(on.exit_code, 0) << on.err;
  EXPECT_THAT(on.err, HasSubstr("going on after step " + std::to_string(done)));
  ASSERT_EQ(train("whole", done + 1).exit_code, 0);
  char name[32];
  std::snprintf(name, sizeof name, "step_%08d", done + 1);
  expect_same("stopped", name);
}

TEST_F(TrainCheckpoint, WeightsGoOutAndComeBack) {
  ASSERT_EQ(train("own", 3).exit_code, 0);
  const std::string checkpoint = folder_ + "/own/step_00000003", weights = folder_ + "/hf";
  const Said out = run_pleat({"export-weights", "--model", folder_ + "/config.json", "--checkpoint",
                              checkpoint, "-o", weights});
  ASSERT_EQ(out.exit_code, 0) << out.err;
  EXPECT_EQ(run_pleat({"export-weights", "--from", weights, "-o", weights}).exit_code, 7);
  const std::vector<std::string> go{
      "train",  "--gpus",          "1",           "--seq-len", "16",        "--global-batch", "4",
      "--data", folder_ + "/text", "--precision", "fp32",      "--log-json"};
  // The first loss on the trained weights, and what the run itself would have seen on this batch.
  const std::string log = folder_ + "/log", start = folder_ + "/start";
  ASSERT_EQ(
      run_pleat(go + std::vector<std::string>{log, "--from", weights, "--steps", "1"}).exit_code,
      0);
  ASSERT_EQ(run_pleat(go + std::vector<std::string>{start, "--model", folder_ + "/config.json",
                                                    "--steps", "1"})
                .exit_code,
            0);
  const auto loss = [](const std::string& text) {
    return std::atof(text.substr(text.find("\"loss\":") + 7).c_str());
  };
  EXPECT_LT(loss(read_text(log)), loss(read_text(start)) - 0.01);
  EXPECT_THAT(read_text(log), HasSubstr("\"expert_load\":"));
}

TEST_F(TrainCheckpoint, VerifyFindsWhatAResumeWouldNotRead) {
  ASSERT_EQ(train("own", 4).exit_code, 0);
  const std::string root = folder_ + "/own", newer = root + "/step_00000004";
  const Said whole = run_pleat({"checkpoint", "verify", root});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.out, root + "/step_00000002: whole\n" + newer + ": whole\n");
  EXPECT_EQ(run_pleat({"checkpoint", "repair", root, "--write"}).out, whole.out);
  const std::string shard = newer + "/shard_00001.safetensors";
  std::string bytes = read_text(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(shard, bytes);
  const Said broken = run_pleat({"checkpoint", "verify", root});
  EXPECT_EQ(broken.exit_code, 6);
  EXPECT_THAT(broken.out, HasSubstr(newer + ": broken\n  " + shard +
                                    ": its bytes are not those that were saved\n"));
  EXPECT_THAT(broken.err, HasSubstr("1 of 2 cannot be gone on from"));
  const Said hopeless = run_pleat({"checkpoint", "repair", newer, "--json"});
  EXPECT_EQ(hopeless.exit_code, 6);
  EXPECT_THAT(hopeless.out, HasSubstr("cannot be mended"));
  EXPECT_EQ(run_pleat({"checkpoint", "verify", folder_ + "/nothing"}).exit_code, 2);
}

TEST_F(TrainCheckpoint, OptionsGoTogether) {
  const std::vector<std::string> base{
      "train",          "--model", folder_ + "/config.json", "--gpus", "1",
      "--seq-len",      "16",      "--global-batch",         "4",      "--data",
      folder_ + "/text"};
  EXPECT_THAT(run_pleat(base + std::vector<std::string>{"--resume"}).err,
              HasSubstr("--resume: there is no folder"));
  EXPECT_EQ(run_pleat(base + std::vector<std::string>{"--save-every", "2"}).exit_code, 2);
  EXPECT_EQ(run_pleat(base + std::vector<std::string>{"--load", folder_ + "/none"}).exit_code, 5);
}

// 4,000 letters and an end are 250 samples: the order of the first two steps ends after step 62.
TEST_F(TrainCheckpoint, GoesOnForLongerThanTheOrderItBeganWith) {
  std::vector<std::string> begin = command("long", 2), further = command("long", 100, "70"),
                           again = command("again", 2), at_once = command("again", 100, "100");
  for (auto* words : {&begin, &further, &again, &at_once}) {
    words->erase(words->begin() + 5, words->begin() + 7);  // --order-samples
  }
  ASSERT_EQ(run_pleat(begin).exit_code, 0);
  const Said part = run_pleat(further + std::vector<std::string>{"--resume"});
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.err, HasSubstr("the order of 250 samples ends in step 62"));
  // Disturbed in the second order or not: the same losses, the same bits.
  std::filesystem::remove_all(folder_ + "/long/step_00000100");
  const Said rest = run_pleat(further + std::vector<std::string>{"--resume"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  ASSERT_EQ(run_pleat(again).exit_code, 0);
  const Said whole = run_pleat(at_once + std::vector<std::string>{"--resume"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string last = "/step_00000100/shard_00000.safetensors";
  EXPECT_EQ(read_text(folder_ + "/long" + last), read_text(folder_ + "/again" + last));
}

TEST_F(TrainCheckpoint, GoesOnWithOtherDataWhereItIsLoaded) {
  ASSERT_EQ(train("first", 4).exit_code, 0);
  write_text(folder_ + "/text", std::string(3000, 'x') + "another text");
  const Said resumed = train("first", 6, {"--resume"});
  EXPECT_EQ(resumed.exit_code, 6);
  EXPECT_THAT(resumed.err, HasSubstr("data: other data in the checkpoint"));
  const Said loaded = train("second", 6, {"--load", folder_ + "/first"});
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_THAT(loaded.err, HasSubstr("other data than the checkpoint's"));
  EXPECT_THAT(loaded.out, HasSubstr("step    4"));
  const Said further = train("second", 8, {"--resume"});
  ASSERT_EQ(further.exit_code, 0) << further.err;
  EXPECT_THAT(further.err, ::testing::Not(HasSubstr("other data")));
}

// The weights of further losses may change on the way; those that nobody changes stay.
TEST_F(TrainCheckpoint, ARouterThatNothingBalancesGetsABalanceLoss) {
  EXPECT_THAT(train("balanced", 2).out, HasSubstr("--aux-loss 0.01"));
  const Said none = train("none", 2, {"--aux-loss", "0"});
  EXPECT_THAT(none.out, ::testing::Not(HasSubstr("--aux-loss")));
  EXPECT_THAT(train("none", 4, {"--resume"}).out, ::testing::Not(HasSubstr("--aux-loss")));
  const Said other = train("balanced", 4, {"--resume", "--aux-loss", "0.1"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
}

}  // namespace
}  // namespace pleat::cli_test
