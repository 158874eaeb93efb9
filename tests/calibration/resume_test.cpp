// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plan of points, when a point stops, and calibrations that are killed and go on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "calibration/calibrate.hpp"
#include "calibration/microbench/host_links.hpp"
#include "calibration/sample_log.hpp"
#include "core/diagnostics.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace pleat {
namespace {

class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "pleat_calibration_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file() const { return folder_ + "/samples"; }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

 private:
  std::string folder_;
};
using SampleLogFile = TemporaryFolder;
using Resume = TemporaryFolder;

ClusterSpec gpu_machine() {
  ClusterSpec c;
  c.name = "one-gpu";
  c.gpu.peak_fp32 = FlopsPerSecond(6e13);
  c.gpu.peak_bf16 = FlopsPerSecond(9.9e14);
  c.gpu.peak_fp8 = FlopsPerSecond(2e15);
  c.gpu.memory_bandwidth = BytesPerSecond(4.8e12);
  c.tiers.push_back({"nvlink", 0, BytesPerSecond(4.5e11), Seconds(1e-6)});
  return c;
}

std::vector<PlannedPoint> gpu_plan() {
  static FakeBench bench;
  static const auto ranks = thread_ranks(1);
  return plan_points(bench, PointSet::gpu, *ranks, {});
}

// Samples of two calibrations are only of the same points while this holds: a change of the plan
// changes the figure.
TEST(GpuPlan, IsLocked) {
  const auto points = gpu_plan();
  std::set<std::string> names;
  std::map<std::string, int> families;
  for (const PlannedPoint& p : points) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name << " is there twice";
    ++families[p.family];
  }
  for (const char* family :
       {"gemm", "grouped_gemm", "attention_fwd", "attention_bwd", "memory_bound", "norm",
        "activation", "loss", "router", "permute", "quantize", "optimizer", "launch"}) {
    EXPECT_GT(families[family], 0) << family;
  }
  EXPECT_EQ(points.size(), 914U);
  EXPECT_EQ(digest_of(points), "4969044783dd2644");
}

// Every point at its limit, half a second or a part of it: the stopping rule of `pleat calibrate`.
// With one GPU a fifth of ten minutes is left to prepare points, with eight, whose collectives fill
// their time, ten seconds, and what kernels and copies spare whose mean is known before.
TEST(GpuPlan, TakesTenMinutesAtMost) {
  for (const auto& [world, most] : {std::pair{1, 480.0}, {2, 510.0}, {4, 550.0}, {8, 590.0}}) {
    FakeBench bench;
    for (const CopyPoint& p : copy_points()) {  // some of what a GPU's bench adds
      bench.others.push_back(
          {.name = name_of(p), .what = what_of(p), .prepare = {}, .share = share_of(p)});
    }
    for (int i = 0; i < 6; ++i)
      bench.others.push_back({.name = "host " + std::to_string(i), .what = "host", .prepare = {}});
    const auto ranks = thread_ranks(world);
    PlanLimits limits{.kernel = {.seconds = 0.5}, .collective = {.seconds = 0.5}};
    limits.collective_bytes = std::int64_t{1} << 30U;
    limits.overlap = gpu_overlap();
    double seconds = 0;
    std::set<std::string> names;
    for (const PlannedPoint& p : plan_points(bench, PointSet::gpu, *ranks, limits)) {
      EXPECT_TRUE(names.insert(p.name).second) << p.name << " is there twice";
      EXPECT_GT(p.seconds, 0) << p.name;
      EXPECT_LE(p.seconds, 0.5) << p.name;
      seconds += p.seconds;
    }
    EXPECT_LT(seconds, most) << world;
    RecordProperty(std::to_string(world) + " GPUs", std::to_string(seconds));
    RecordProperty(std::to_string(world) + " GPUs, points", std::to_string(names.size()));
    // Once in the plan: what is judged, and work beside collectives.
    for (const char* name :
         {"all_reduce 8 B, 2 of 2 ranks", "all_reduce (bf16) 4096 B, 2 of 2 ranks",
          "all_to_all (hot) 1048576 B, 2 of 2 ranks",
          "send_recv (both ways) 65536 B, 2 of 2 ranks"})
      EXPECT_EQ(names.contains(name), world > 1) << name;
    EXPECT_EQ(std::count_if(names.begin(), names.end(),
                            [](const std::string& n) { return n.starts_with("overlap: "); }),
              world > 1 ? 49 : 0);
    EXPECT_EQ(std::count_if(names.begin(), names.end(),
                            [](const std::string& n) { return n.starts_with("host links: "); }),
              world > 1 ? 6 : 0);
  }
}

TEST(CpuPlan, IsLockedAndHasEveryFamilyAloneAndShared) {
  const auto ranks = thread_ranks(4);
  FakeBench bench;
  const auto points = plan_points(bench, PointSet::cpu, *ranks, {});
  std::set<std::string> names;
  std::map<std::string, int> alone, shared;
  for (const PlannedPoint& p : points) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name << " is there twice";
    if (p.family != "kernels on 4 threads") {
      ++alone[p.family];
      continue;
    }
    const Sample sample = p.sample({.seconds = {1}, .repeats = 1});
    ++shared[name_of(std::get<KernelSample>(sample.point).kernel)];
  }
  for (std::size_t k = 0; k < kKernelClasses; ++k) {
    const char* family = name_of(static_cast<KernelClass>(k));
    EXPECT_GT(alone[family], 1) << family;
    EXPECT_GT(shared[family], 0) << family;
  }
  EXPECT_EQ(points.size(), 411U);
  EXPECT_EQ(digest_of(points), "f549570c6663576c");
}

TEST(PointTiming, StopsWhenTheMeanIsKnown) {
  const KernelPoint point{.name = "p", .bytes = 1, .prepare = {}};
  FakeBench exact(0), noisy(0.2), hopeless(0.9);
  EXPECT_EQ(time_alone(exact, point, {.seconds = 1, .confidence = 0.01, .least = 10}).repeats, 10);
  // 1.96 * 0.2 / sqrt(n) = 0.01 at n = 1537; the sample deviation is a little larger.
  EXPECT_NEAR(
      time_alone(noisy, point, {.seconds = 1, .repeats = 10000, .confidence = 0.01, .least = 10})
          .repeats,
      1538, 3);
  // 500 times a microsecond on average.
  EXPECT_NEAR(
      time_alone(hopeless, point, {.seconds = 5e-4, .repeats = 10000, .confidence = 0.01}).repeats,
      500, 2);
}

TEST(PointTiming, ConfidenceIsThatOfTheMean) {
  EXPECT_TRUE(std::isinf(relative_confidence({1})));
  // Deviation 1, two values: 1.96 * sqrt(2) / sqrt(2) / 2.
  EXPECT_NEAR(relative_confidence({1, 3}), 1.96 * std::sqrt(2.0) / std::sqrt(2.0) / 2, 1e-12);
}

TEST_F(SampleLogFile, KeepsWhatWasWrittenAndCutsATornLine) {
  {
    SampleLog log(file(), {{"plan", "a"}});
    log.add("one", {{1e-6, 2e-6}, 2});
    log.add("lost", {});
  }
  const std::string whole = text();
  {
    std::ofstream out(file(), std::ios::app);
    out << R"({"name":"two","repeats":3,"seco)";
  }
  {
    SampleLog log(file(), {{"plan", "a"}});
    EXPECT_EQ(log.found(), 2U);
    ASSERT_NE(log.find("one"), nullptr);
    EXPECT_EQ(*log.find("one"), (Timing{{1e-6, 2e-6}, 2}));
    EXPECT_TRUE(log.find("lost")->seconds.empty());
    EXPECT_EQ(log.find("two"), nullptr);
    EXPECT_EQ(text(), whole);
    EXPECT_THROW(SampleLog(file(), {{"plan", "a"}}), ConfigError) << "another one has it";
  }
  try {
    const SampleLog log(file(), {{"plan", "b"}});
    FAIL() << "it is of another plan";
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::verification);
    EXPECT_NE(std::string(e.what()).find("another calibration"), std::string::npos);
  }
  EXPECT_EQ(text(), whole);
}

// A process that is killed in the middle; another takes its samples and measures the rest.
TEST_F(Resume, GoesOnAfterSigkill) {
  CalibrateConfig config;
  config.ranks = 1;
  config.point_seconds = 1e-5;
  config.created = "2026-01-02";
  config.log_file = file();
  const auto plan = gpu_plan();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FakeBench bench(0.5);
    config.bench = &bench;
    config.on_progress = [](const CalibrationProgress& p) {
      if (p.done == 40) ::kill(::getpid(), SIGKILL);
    };
    static_cast<void>(calibrate(gpu_machine(), config));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const std::string before = text();
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'), 41);  // facts and 40 points

  FakeBench bench(0.25);
  config.bench = &bench;
  int first = -1;
  config.on_progress = [&](const CalibrationProgress& p) {
    if (first < 0) first = p.done;
  };
  const CalibrationResult r = calibrate(gpu_machine(), config);
  EXPECT_EQ(first, 40);
  EXPECT_EQ(r.resumed, 40);
  EXPECT_EQ(r.samples.size(), plan.size());
  EXPECT_EQ(text().substr(0, before.size()), before);
  // Of the first process's times, and of this one's.
  EXPECT_DOUBLE_EQ(r.samples[0].raw[0], 1.5e-6);
  EXPECT_DOUBLE_EQ(r.samples[40].raw[0], 1.25e-6);
  EXPECT_EQ(r.profile.cluster, "one-gpu");
  EXPECT_EQ(read_profile(write_profile(r.profile), "profile"), r.profile);
  const auto json = nlohmann::json::parse(samples_json(r));
  EXPECT_EQ(json["facts"]["device"], "fake");
  EXPECT_EQ(json["samples"].size(), plan.size());
  EXPECT_EQ(json["samples"][0]["raw"].size(), r.samples[0].raw.size());

  const CalibrationResult again = calibrate(gpu_machine(), config);
  EXPECT_EQ(again.resumed, static_cast<int>(plan.size()));
  EXPECT_EQ(again.samples, r.samples);
}

// Time for a ninth of the plan: each family of many points has some of it, and a profile is fitted.
TEST_F(Resume, WhatThereIsTimeForIsSpreadOverThePlan) {
  constexpr int kMeasured = 100;
  FakeBench bench(0.5);
  CalibrateConfig config;
  config.ranks = 1;
  config.point_seconds = 1e-5;
  config.created = "2026-01-02";
  config.log_file = file();
  config.bench = &bench;
  config.within_seconds = 2;
  config.on_progress = [](const CalibrationProgress& p) {
    if (p.done == kMeasured - 1) std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  };
  const auto plan = gpu_plan();
  const CalibrationResult some = calibrate(gpu_machine(), config);
  EXPECT_EQ(some.samples.size(), std::size_t{kMeasured});
  EXPECT_EQ(some.left, static_cast<int>(plan.size()) - kMeasured);
  EXPECT_TRUE(some.failed.empty());
  std::map<std::string, int> planned, measured;
  for (const PlannedPoint& p : plan) ++planned[p.family];
  const std::string log = text();
  for (const PlannedPoint& p : plan) {
    if (log.find("\"" + p.name + "\"") != std::string::npos) ++measured[p.family];
  }
  for (const auto& [family, count] : planned) {
    if (count >= 30) {
      const double share = count * kMeasured / static_cast<double>(plan.size());
      EXPECT_NEAR(measured[family], share, 3) << family;
    }
  }
  EXPECT_GT(some.profile.host_per_op, Seconds(0));  // of one point
  EXPECT_EQ(read_profile(write_profile(some.profile), "profile"), some.profile);
  config.within_seconds = 0;
  config.on_progress = {};
  const CalibrationResult all = calibrate(gpu_machine(), config);
  EXPECT_EQ(all.resumed, kMeasured);
  EXPECT_EQ(all.left, 0);
  EXPECT_EQ(all.samples.size(), plan.size());
}

// What the device has no memory for is left out and said.
TEST_F(Resume, LeavesOutWhatCannotBeMeasured) {
  FakeBench bench(0.1, 3);
  const auto ranks = thread_ranks(1);
  CalibrateConfig config;
  config.point_seconds = 1e-9;  // one call each
  config.bench = &bench;
  config.runner = ranks.get();
  const CalibrationResult r = calibrate(gpu_machine(), config);
  // The fake device's call number does not go on after it failed.
  EXPECT_EQ(r.samples.size(), 3U);
  EXPECT_EQ(r.failed.size(), gpu_plan().size() - 3);
}

// On a device that failed for good nothing more is tried; the next calibration goes on there.
TEST_F(Resume, EndsWhereTheDeviceBreaks) {
  FakeBench broken(0.1, 3), sound(0.1);
  broken.breaks = true;
  const auto ranks = thread_ranks(1);
  CalibrateConfig config;
  config.point_seconds = 1e-9;  // one call each
  config.bench = &broken;
  config.runner = ranks.get();
  config.log_file = file();
  try {
    static_cast<void>(calibrate(gpu_machine(), config));
    FAIL() << "the device is broken";
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::device_or_io);
    EXPECT_NE(std::string(e.what()).find("the device is gone"), std::string::npos) << e.what();
  }
  config.bench = &sound;
  const CalibrationResult r = calibrate(gpu_machine(), config);
  EXPECT_EQ(r.resumed, 3);
  EXPECT_EQ(r.samples.size(), gpu_plan().size());
}

// What is the host's time is asked of its clock; what is no kernel is kept beside the profile.
TEST(OtherPoints, OfTheHostAndTheContext) {
  FakeBench bench;
  bench.context = 700 << 20;
  bench.others.push_back({.name = "events, host",
                          .what = "events by host",
                          .bytes = 0,
                          .prepare = [] { return [] {}; },
                          .by_host = true});
  const auto ranks = thread_ranks(1);
  CalibrateConfig config;
  config.point_seconds = 1e-9;
  config.bench = &bench;
  config.runner = ranks.get();
  const CalibrationResult r = calibrate(gpu_machine(), config);
  const auto host = std::find_if(r.samples.begin(), r.samples.end(),
                                 [](const Sample& s) { return s.name == "events, host"; });
  ASSERT_NE(host, r.samples.end());
  EXPECT_EQ(host->time.base(), 5e-6);
  EXPECT_EQ(r.profile.device_context, Bytes(700 << 20));
  EXPECT_NE(r.profile.provenance.find(", pleat "), std::string::npos);
  EXPECT_EQ(read_profile(write_profile(r.profile), "profile"), r.profile);
}

TEST(Sustained, ShareIsOfTheLastQuarterOverTheFirstRuns) {
  std::vector<double> seconds(40, 1.0);
  EXPECT_EQ(sustained_share(seconds), 1);
  std::fill(seconds.begin() + 20, seconds.end(), 1.25);
  EXPECT_EQ(sustained_share(seconds), 0.8);
  std::fill(seconds.begin() + 20, seconds.end(), 0.5);  // warmer is not faster
  EXPECT_EQ(sustained_share(seconds), 1);
  EXPECT_EQ(sustained_share({1, 2, 3}), 1);
}

// The product's becomes the profile's clock of products; attention's, which comes before it, does
// not become anything's, and is said.
TEST(Sustained, IsMeasuredWhenAskedForAndTheProductsIsInTheProfile) {
  const auto plan = static_cast<int>(gpu_plan().size());
  for (const bool attention : {false, true}) {
    FakeBench bench;
    // A hundred runs of attention, the launch, a hundred of the product: slow from half of either
    // on.
    bench.slow_from = attention ? plan - 1 + 50 : plan + 100 + 50;
    const auto ranks = thread_ranks(1);
    CalibrateConfig config;
    config.point_seconds = 1e-9;      // one call each
    config.sustained_seconds = 1e-4;  // a hundred runs
    config.bench = &bench;
    config.runner = ranks.get();
    const CalibrationResult r = calibrate(gpu_machine(), config);
    EXPECT_EQ(std::ssize(r.samples), plan + 2);
    EXPECT_NEAR(r.profile.sustained_clock.gemm_bf16, attention ? 1 : 0.8, 1e-12);
    EXPECT_NEAR(r.profile.sustained_clock.gemm_fp8, attention ? 1 : 0.8, 1e-12);
    EXPECT_EQ(r.profile.sustained_clock.attention, 1);
    const std::string text = print_residuals(r);
    const std::string line =
        fmt::format("under load: attention 1x8192 32 heads of 128, 8 groups, 0.0001 s at {} of its "
                    "first runs' rate (no constant of the profile)\n",
                    attention ? "0.800" : "1.000");
    EXPECT_NE(text.find(line), std::string::npos) << line;
    EXPECT_NE(samples_json(r).find("\"sustained attention\""), std::string::npos);
  }
}

// A host that is disturbed for the whole first pass, or for the second one's start, leaves no trace
// in the profile; every point is measured as often as there are passes.
TEST(Passes, EveryPointKeepsItsQuickerOne) {
  const auto ranks = thread_ranks(1);
  const auto points = static_cast<int>(gpu_plan().size());
  for (const auto& [disturbed, passes, slow] :
       {std::tuple{points, 2, 0}, {points + 100, 2, 100}, {points, 1, points}}) {
    FakeBench bench(0, -1, disturbed);
    CalibrateConfig config;
    config.point_seconds = 1e-9;  // one call each
    config.passes = passes;
    config.bench = &bench;
    config.runner = ranks.get();
    std::vector<int> done;
    config.on_progress = [&](const CalibrationProgress& p) {
      EXPECT_EQ(p.points, passes * points);
      done.push_back(p.done);
    };
    const CalibrationResult r = calibrate(gpu_machine(), config);
    EXPECT_EQ(bench.calls(), passes * points);
    EXPECT_EQ(std::ssize(done), passes * points);
    EXPECT_EQ(done.back(), passes * points - 1);
    ASSERT_EQ(std::ssize(r.samples), points);
    EXPECT_EQ(std::count_if(r.samples.begin(), r.samples.end(),
                            [](const Sample& s) { return s.raw.front() > 2e-6; }),
              slow);
  }
}

TEST(Progress, SaysWhatHowFarAndHowLong) {
  EXPECT_EQ(progress_line({"gemm", "gemm 8x8x8", 1, 4, 200}),
            "[#####...............]  25%  gemm 8x8x8  3:20 left");
  EXPECT_EQ(progress_line({"gemm", "gemm 8x8x8", 0, 4, 0}),
            "[....................]   0%  gemm 8x8x8");
}

}  // namespace
}  // namespace pleat
