// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat calibrate --from-runs`, what `predict` makes of it, and `pleat validate --learn`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/json/parse.hpp"
#include "core/spec/profile.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

const std::string kMixtralLog =
    std::string(PLEAT_SOURCE_DIR) + "/tests/interop/data/megatron_mixtral.log";

// llama3-8b on 64 H100, with this sequence length and step time.
std::string row(const std::string& id, int seq_len, double seconds,
                const std::string& cluster = "h100-sxm") {
  return fmt::format(
      R"({{"id": "{}", "era": "nemo-25.11", "model": "llama3-8b", "cluster": "{}", "gpus": 64, )"
      R"("workload": {{"seq_len": {}, "global_batch": 128}}, )"
      R"("plan": {{"micro_batch": 1, "tp": 1, "pp": 1, "cp": 1, "precision": "bf16", )"
      R"("sharding": "zero1", "recompute": {{"granularity": "none"}}}}, )"
      R"("measured": {{"step_time_s": {}}}}})"
      "\n",
      id, cluster, seq_len, seconds);
}

Words predict(int seq_len) {
  return {"predict",
          "--model",
          "llama3-8b",
          "--cluster",
          "h100-sxm",
          "--gpus",
          "64",
          "--seq-len",
          std::to_string(seq_len),
          "--global-batch",
          "128"};
}

double number_in(const JsonValue& json, const char* key) {
  const JsonValue* found = json.find(key);
  if (found == nullptr) throw std::runtime_error(key);
  return found->as_double() ? *found->as_double() : static_cast<double>(*found->as_integer());
}

JsonValue json_of(const Words& words) {
  const Said run = run_pleat(words + Words{"--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "out");
}

// What the shipped profile says of a row, times `slower`.
double seconds_of(int seq_len, double slower) {
  const std::string file = test_folder() + "/one.jsonl";
  write_text(file, row("one", seq_len, 1));
  const JsonValue json = json_of({"validate", "--rows", file});
  return slower * number_in(json.find("rows")->items().at(0), "predicted_step_s");
}

// Four runs of a cluster that is a tenth slower than its profile says, and one odd run.
std::string rows_of_a_slow_cluster() {
  std::string text;
  for (const int seq_len : {2048, 4096, 8192, 16384}) {
    text += row(fmt::format("s{}", seq_len), seq_len, seconds_of(seq_len, 1.1));
  }
  const std::string file = test_folder() + "/runs.jsonl";
  write_text(file, text + row("stalled", 4096, seconds_of(4096, 2.5)));
  return file;
}

TEST(FromRuns, TheProfileThatLearnedPredictsTheClusterBetter) {
  const std::string out = test_folder() + "/ours.json", rows = rows_of_a_slow_cluster();
  const Said run = run_pleat({"calibrate", "--from-runs", rows, "-o", out});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("learned from 5 runs of h100-sxm, beginning with "
                                       "h100-sxm-megatron"),
                             HasSubstr("stalled"), HasSubstr(": odd"), HasSubstr("1 run odd")));
  const JsonValue before = json_of(predict(4096));
  const JsonValue after = json_of(predict(4096) + Words{"--profile", out});
  EXPECT_GT(number_in(after, "step_s") / number_in(before, "step_s"), 1.03);
  EXPECT_LT(number_in(after, "step_s") / number_in(before, "step_s"), 1.11);
  EXPECT_EQ(number_in(after, "learned_from_runs"), 5);
  EXPECT_EQ(before.find("learned_from_runs"), nullptr);
  const Said said = run_pleat(predict(4096) + Words{"--profile", out});
  EXPECT_THAT(said.out, HasSubstr("learned from 5 runs of h100-sxm"));
}

TEST(FromRuns, TheWrittenProfileNamesWhatItLearned) {
  const std::string out = test_folder() + "/ours.json", rows = rows_of_a_slow_cluster();
  ASSERT_EQ(run_pleat({"calibrate", "--from-runs", rows, "-o", out}).exit_code, 0);
  const Profile p = read_profile(read_text(out), out);
  EXPECT_EQ(p.name, "ours");
  EXPECT_EQ(p.cluster, "h100-sxm");
  ASSERT_TRUE(p.learned);
  const Learned& l = *p.learned;
  EXPECT_EQ(l.from, "h100-sxm-megatron");
  EXPECT_GT(l.constants[0].time_factor, 1.0);
  EXPECT_LT(l.constants[0].standard_error, l.constants[0].prior_error);
  ASSERT_FALSE(l.constants[0].fields.empty());
  EXPECT_EQ(l.constants[0].fields[0].name, "sustained_clock.gemm_bf16");
  ASSERT_EQ(l.runs.size(), 5U);
  EXPECT_EQ(l.runs[0].file, rows);
  EXPECT_THAT(l.runs[0].what, HasSubstr("llama3-8b on 64 GPUs: TP1"));
  EXPECT_FALSE(l.runs[1].outlier);
  EXPECT_TRUE(l.runs[4].outlier);
}

TEST(FromRuns, AFileThatIsThereStaysUnlessForced) {
  const std::string folder = test_folder() + "/out";
  std::filesystem::create_directories(folder);
  const Words words{"calibrate", "--from-runs", rows_of_a_slow_cluster(), "-o", folder + "/p.json"};
  const Said dry = run_pleat(words + Words{"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.err, HasSubstr("would write " + folder + "/p.json"));
  EXPECT_THAT(files_in(folder), IsEmpty());
  EXPECT_EQ(run_pleat(words).exit_code, 0);
  EXPECT_EQ(run_pleat(words).exit_code, 7);
  EXPECT_EQ(run_pleat(words + Words{"--force"}).exit_code, 0);
  const Said only = run_pleat({"calibrate", "--from-runs", rows_of_a_slow_cluster()});
  EXPECT_EQ(only.exit_code, 0);
  EXPECT_THAT(only.err, HasSubstr("the profile is not kept"));
}

TEST(FromRuns, AMegatronLogIsARun) {
  const Said odd = run_pleat({"calibrate", "--from-runs", kMixtralLog, "--cluster", "h100-sxm"});
  EXPECT_EQ(odd.exit_code, 3);  // the times in it are made up
  EXPECT_THAT(odd.err, HasSubstr("1 of 1 runs are further from the profile"));
  std::string text = read_text(kMixtralLog);
  const std::string time = "elapsed time per iteration (ms): ";
  for (std::size_t at = 0; (at = text.find(time + "7", at)) != std::string::npos;) {
    text[at + time.size()] = '3';
  }
  const std::string log = test_folder() + "/train.log";
  write_text(log, text);
  const Said run = run_pleat({"calibrate", "--from-runs", log, "--cluster", "h100-sxm"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("learned from 1 run of h100-sxm"), HasSubstr("3.01")));
  const Said unknown = run_pleat({"calibrate", "--from-runs", kMixtralLog});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("a Megatron log does not name its GPUs"));
}

TEST(FromRuns, ALogOfTrainFollowsItsPlan) {
  const std::string folder = test_folder(), plan = folder + "/plan.json", log = folder + "/log";
  const Said made = run_pleat({"predict", "--model", "tiny-moe", "--cluster", "localhost", "--gpus",
                               "2", "--seq-len", "64", "--global-batch", "8", "--out", plan});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const double step = number_in(json_of({"predict", "--plan", plan}), "step_s");
  std::string lines;
  for (int i = 0; i < 6; ++i) {
    lines += fmt::format("{{\"step\": {}, \"loss\": 3.0, \"seconds\": {}}}\n", i,
                         i < 3 ? 100 * step : 1.2 * step);  // three steps to warm up
  }
  write_text(log, lines);
  const JsonValue p = json_of({"calibrate", "--from-runs", plan, log});
  const JsonValue& run = p.find("learned")->find("runs")->items().at(0);
  EXPECT_NEAR(number_in(run, "measured_s"), 1.2 * step, 1e-9);
  EXPECT_GT(number_in(run, "after_s"), number_in(run, "before_s"));
  EXPECT_EQ(*p.find("runtime")->as_string(), "pleat");
  const Said alone = run_pleat({"calibrate", "--from-runs", log});
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_THAT(alone.err, AllOf(HasSubstr("does not say what ran"), HasSubstr("plan.json")));
}

TEST(FromRuns, WhatCannotBeLearnedFromIsSaid) {
  const std::string file = test_folder() + "/rows.jsonl";
  const auto refused = [&](const std::string& rows, const Words& more = {}) {
    write_text(file, rows);
    return run_pleat(Words{"calibrate", "--from-runs", file} + more);
  };
  const Said mixed = refused(row("a", 4096, 2) + row("b", 4096, 2, "b200"));
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_THAT(mixed.err, HasSubstr("rows.jsonl:2: cluster: ran on b200, not on h100-sxm"));
  const Said other = refused(row("a", 4096, 2), {"--cluster", "b200"});
  EXPECT_THAT(other.err, HasSubstr("ran on h100-sxm, not on b200"));
  const Said far = refused(row("a", 4096, 1e4) + row("b", 4096, 1e-4));
  EXPECT_EQ(far.exit_code, 3);
  EXPECT_THAT(far.err, HasSubstr("2 of 2 runs are further from the profile"));
  std::string no_time = row("a", 4096, 2);
  no_time.replace(no_time.find("\"step_time_s\": 2"), 16, "");
  const Said nothing = refused(no_time);
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_THAT(nothing.err, AllOf(HasSubstr("left out: a ("), HasSubstr("no run can be used")));
  EXPECT_EQ(refused(row("a", 4096, 2), {"--device", "cuda"}).exit_code, 2);
  EXPECT_EQ(run_pleat({"calibrate", "--force"}).exit_code, 2);
}

TEST(ValidateLearning, TheOthersOfASlowClusterArePredictedBetter) {
  std::string text;
  int n = 0;
  for (const int seq_len : {1024, 2048, 4096, 8192, 16384}) {
    text += row(fmt::format("r{}", n++), seq_len, seconds_of(seq_len, 1.12));
  }
  const std::string file = test_folder() + "/rows.jsonl";
  write_text(file, text);
  const JsonValue j = json_of({"validate", "--rows", file, "--learn", "2", "--draws", "3"});
  ASSERT_EQ(j.find("groups")->items().size(), 1U);
  const JsonValue& group = j.find("groups")->items()[0];
  EXPECT_EQ(number_in(group, "runs"), 5);
  EXPECT_NEAR(number_in(group, "error_before"), 1 - 1 / 1.12, 1e-6);
  EXPECT_LT(number_in(group, "error_after"), 0.95 * number_in(group, "error_before"));
  EXPECT_LT(number_in(group, "band_after"), number_in(group, "band_before"));
  EXPECT_EQ(json_of({"validate", "--rows", file, "--learn", "2", "--draws", "3"}), j);  // a seed
}

TEST(ValidateLearning, PredictionsMayKnowLess) {
  const std::string file = test_folder() + "/rows.jsonl";
  write_text(file, row("a", 4096, 2));
  std::vector<double> steps;
  for (const char* know : {"all", "tables", "datasheet"}) {
    const JsonValue json = json_of({"validate", "--rows", file, "--know", know});
    steps.push_back(number_in(json.find("rows")->items().at(0), "predicted_step_s"));
  }
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_NE(steps[1], steps[2]);
}

}  // namespace
}  // namespace pleat::cli_test
