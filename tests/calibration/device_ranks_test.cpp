// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of a calibration between devices whose memory the host cannot touch: through NCCL,
// with a stand-in for its library, and by way of the host.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "backend/comm/job_part.hpp"
#include "calibration/calibrate.hpp"
#include "calibration/nccl_version.hpp"
#include "core/median.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace pleat {
namespace {

Devices devices_of(const JobPart& part) {
  Devices all;
  for (std::size_t i = 0; i < part.ranks().size(); ++i) {
    all.push_back(std::make_unique<test::CheckingDevice>(true));
  }
  return all;
}

// Two nodes of two GPUs.
ClusterSpec two_nodes() {
  ClusterSpec c;
  c.name = "two-nodes";
  c.gpu.peak_fp32 = c.gpu.peak_bf16 = c.gpu.peak_fp8 = FlopsPerSecond(1e14);
  c.gpu.memory_bandwidth = BytesPerSecond(1e12);
  c.tiers.push_back({"nvlink", 2, BytesPerSecond(1e11), Seconds(1e-6)});
  c.tiers.push_back({"rail", 0, BytesPerSecond(1e10), Seconds(3e-6)});
  return c;
}

TEST(ConcurrentPoints, GroupsOfNeighboursAndOfRanksFarApart) {
  std::set<std::string> names;
  std::map<std::pair<int, int>, int> groups;
  for (const CollectivePoint& p : concurrent_points(8)) {
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
    EXPECT_EQ(p.ranks, 8);
    ++groups[{p.group, p.stride}];
  }
  // Four kinds of 64 KB and 2 MB; messages to far ranks beside them.
  const std::map<std::pair<int, int>, int> want{
      {{2, 1}, 8}, {{2, 4}, 10}, {{4, 1}, 8}, {{4, 2}, 8}};
  EXPECT_EQ(groups, want);
  EXPECT_TRUE(names.contains("all_reduce 65536 B, 2 of 8 ranks, 4 apart"));
  EXPECT_TRUE(concurrent_points(2).empty());
}

TEST(DeviceRanks, EveryCollectiveThroughNcclAndByTheHost) {
  for (const bool nccl : {false, true}) {
    JobPart part = JobPart::of_threads(4);
    if (nccl) part.use_nccl(load_nccl(PLEAT_FAKE_NCCL));
    const auto ranks = job_ranks(part.ranks(), devices_of(part));
    for (const CollectivePoint& p : collective_points(4, 4096)) {
      EXPECT_GT(median(time_collective(*ranks, p, {.seconds = 0.001, .repeats = 2}).seconds), 0)
          << name_of(p);
    }
    for (const CollectivePoint& p : concurrent_points(4, 65536)) {
      EXPECT_GT(median(time_collective(*ranks, p, {.seconds = 0.001, .repeats = 2}).seconds), 0)
          << name_of(p);
    }
    for (const auto& points : {judged_points(4, 1 << 20U), both_ways_points(4, 65536),
                               odd_group_points(4, 65536)}) {
      EXPECT_GT(points.size(), 2U);
      for (const CollectivePoint& p : points) {
        EXPECT_GT(median(time_collective(*ranks, p, {.seconds = 0.001, .repeats = 2}).seconds), 0)
            << name_of(p);
      }
    }
  }
}

// Beside those without them, and no part of the fit; where there are none the points are left out.
TEST(DeviceRanks, CollectivesInSymmetricWindows) {
  for (const bool windows : {true, false}) {
    JobPart part = JobPart::of_threads(4);
    auto functions = std::make_shared<NcclFunctions>(*load_nccl(PLEAT_FAKE_NCCL));
    if (!windows) functions->comm_window_register = nullptr;
    std::set<std::string> said;
    std::mutex mutex;
    part.use_nccl(functions, {.windows = true, .say = [&](const std::string& line) {
                                const std::scoped_lock lock(mutex);
                                said.insert(line);
                              }});
    const auto ranks = job_ranks(part.ranks(), devices_of(part));
    FakeBench bench(0.1);
    CalibrateConfig config{.point_seconds = 0.001, .bench = &bench, .runner = ranks.get()};
    config.collective_bytes = 4096;
    config.windows = true;
    const CalibrationResult r = calibrate(two_nodes(), config);
    std::map<bool, int> samples;
    for (const Sample& s : r.samples) {
      const auto* c = std::get_if<CollectiveSample>(&s.point);
      if (c == nullptr || c->stride > 1 || 2 * c->group <= c->ranks) continue;
      EXPECT_EQ(s.name.ends_with(", in windows"), c->windows) << s.name;
      EXPECT_FALSE(c->windows && c->collective == Collective::send_recv);
      ++samples[c->windows];
    }
    // Three kinds of 1 KB and 4 KB, of 2 and of 4 ranks.
    EXPECT_EQ(samples[true], windows ? 12 : 0);
    EXPECT_GE(samples[false], 12);
    EXPECT_EQ(r.failed.size(), windows ? 0U : 12U);
    EXPECT_EQ(samples_json(r).find("\"windows\": true") != std::string::npos, windows);
    EXPECT_EQ(said.empty(), windows);
    EXPECT_EQ(print_windows(r).find("\nall_gather 4096 B, 4 of 4 ranks ") != std::string::npos,
              windows);
    for (const Residual& residual : r.residuals) {
      if (residual.family != "all_reduce") continue;
      EXPECT_LE(residual.in_sample + residual.held_out, 2);
    }
  }
}

TEST(DeviceRanks, FitsACurveForEachTier) {
  JobPart part = JobPart::of_threads(4);
  part.use_nccl(load_nccl(PLEAT_FAKE_NCCL));
  const auto ranks = job_ranks(part.ranks(), devices_of(part));
  FakeBench bench(0.1);
  CalibrateConfig config;
  config.point_seconds = 0.001;
  config.bench = &bench;
  config.runner = ranks.get();
  config.collective_bytes = 65536;
  config.collectives = "nccl";
  const CalibrationResult r = calibrate(two_nodes(), config);
  EXPECT_TRUE(r.failed.empty());
  ASSERT_EQ(r.profile.collectives.size(), 2U);
  std::set<std::string> families;
  for (const Residual& residual : r.residuals) families.insert(residual.family);
  for (std::size_t c = 0; c < kCollectives; ++c) {
    const std::string name = name_of(static_cast<Collective>(c));
    EXPECT_TRUE(families.contains(name)) << name;
    EXPECT_TRUE(families.contains(name + " over rail")) << name;
  }
  EXPECT_NE(samples_json(r).find("\"stride\": 2"), std::string::npos);
  EXPECT_NE(r.profile.provenance.find("collectives nccl"), std::string::npos);
  EXPECT_EQ(read_profile(write_profile(r.profile), "profile"), r.profile);
}

// A transport that counts the groups that are made of it.
class CountingTransport final : public Transport {
 public:
  CountingTransport(Transport& real, std::atomic<int>& made) : real_(real), made_(made) {}
  [[nodiscard]] Rank rank() const override { return real_.rank(); }
  [[nodiscard]] int world() const override { return real_.world(); }
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    ++made_;
    return real_.group(members);
  }
  void abort(const std::string& reason) override { real_.abort(reason); }

 private:
  Transport& real_;
  std::atomic<int>& made_;
};

TEST(DeviceRanks, OneCommunicatorAGroup) {
  const JobPart part = JobPart::of_threads(4);
  std::atomic<int> made = 0;
  std::vector<std::unique_ptr<Transport>> counting;
  for (const auto& t : part.ranks())
    counting.push_back(std::make_unique<CountingTransport>(*t, made));
  const auto ranks = job_ranks(counting);
  const TimingLimits limits{.seconds = 0.001, .repeats = 2};
  for (const CollectivePoint& p : collective_points(4, 4096))
    EXPECT_GT(median(time_collective(*ranks, p, limits).seconds), 0) << name_of(p);
  for (const CollectivePoint& p : concurrent_points(4, 65536))
    EXPECT_GT(median(time_collective(*ranks, p, limits).seconds), 0) << name_of(p);
  static_cast<void>(time_barrier(*ranks, 4, limits));
  // Each of four ranks: all four, pairs of neighbours, pairs two apart.
  EXPECT_EQ(made, 12);
}

TEST(NcclVersion, IsTheLibrarysOrItIsNotThere) {
  EXPECT_EQ(nccl_version(PLEAT_FAKE_NCCL), "22809");
  EXPECT_EQ(nccl_version("no-such-library.so"), "none");
  EXPECT_EQ(nccl_version("libm.so.6"), "none");  // a library, but not that one
}

// A rank whose GPU fails ends the measurement for all.
TEST(DeviceRanks, WhatOneThrowsEndsAll) {
  const JobPart part = JobPart::of_threads(3);
  const auto ranks = job_ranks(part.ranks(), devices_of(part));
  EXPECT_THROW(ranks->run({.ranks = 3, .group = 3},
                          [](int rank, Communicator& comm) {
                            if (rank == 1) throw std::runtime_error("out of memory");
                            comm.barrier();
                          }),
               std::runtime_error);
}

}  // namespace
}  // namespace pleat
