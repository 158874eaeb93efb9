// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies of all ranks at once and of one alone: who copies what on which stream, and whose time it
// is.
#include "calibration/microbench/host_links.hpp"

#include <gtest/gtest.h>

#include <set>

#include "backend/comm/job_part.hpp"
#include "calibration/calibrate.hpp"
#include "calibration/microbench/rank_runner.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace pleat {
namespace {

// Counts copies each way, and those beside stream 0.
class LinkCountingDevice final : public test::CheckingDevice {
 public:
  LinkCountingDevice() : CheckingDevice(Options{.by_itself = true, .streams = true}) {}
  void enqueue_copy(void* to, const void* from, std::int64_t bytes) override {
    if (hidden(to) != hidden(from)) {  // else a collective's
      ++(hidden(to) ? up : down);
      if (!on_first_stream()) ++beside;
      each.insert(bytes);
    }
    CheckingDevice::enqueue_copy(to, from, bytes);
  }
  int up = 0, down = 0, beside = 0;
  std::set<std::int64_t> each;
};

struct LinkJob {
  explicit LinkJob(int ranks) : part(JobPart::of_threads(ranks)) {
    Devices all;
    for (int i = 0; i < ranks; ++i) {
      auto device = std::make_unique<LinkCountingDevice>();
      devices.push_back(device.get());
      all.push_back(std::move(device));
    }
    runner = job_ranks(part.ranks(), std::move(all));
  }
  JobPart part;
  std::vector<LinkCountingDevice*> devices;
  std::unique_ptr<RankRunner> runner;
};

TEST(HostLinks, PointsOfOneRankAndOfAll) {
  std::set<std::string> names;
  for (const HostLinkPoint& p : host_link_points(8)) names.insert(name_of(p));
  EXPECT_EQ(names, (std::set<std::string>{
                       "host links: both_ways 67108864 B, 1 of 8 ranks",
                       "host links: both_ways 67108864 B, 8 of 8 ranks",
                       "host links: device_to_host 67108864 B, 1 of 8 ranks",
                       "host links: device_to_host 67108864 B, 8 of 8 ranks",
                       "host links: host_to_device 67108864 B, 1 of 8 ranks",
                       "host links: host_to_device 67108864 B, 8 of 8 ranks"}));
  EXPECT_TRUE(host_link_points(1).empty());
}

TEST(HostLinks, RanksThatAreMeantCopyEachWay) {
  for (const HostLinkPoint& p : host_link_points(3, 4096)) {
    LinkJob job(3);
    const Timing t = time_host_link(*job.runner, p, {.seconds = 1e-9, .repeats = 1});
    // A call to warm up, three to learn how many make one of five blocks: here one.
    EXPECT_EQ(t.repeats, 5);
    EXPECT_EQ(t.seconds.size(), p.alone ? 5U : 3U) << "blocks of one, or ranks";
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const LinkCountingDevice& d = *job.devices[rank];
      const int copies = p.alone && rank > 0 ? 0 : 9;
      EXPECT_EQ(d.up, p.up ? copies : 0) << name_of(p);
      EXPECT_EQ(d.down, p.down ? copies : 0) << name_of(p);
      EXPECT_EQ(d.beside, p.up && p.down ? copies : 0) << name_of(p);
      EXPECT_EQ(d.each, copies > 0 ? std::set<std::int64_t>{4096} : std::set<std::int64_t>{});
    }
  }
}

TEST(HostLinks, SlowestRanksTimeIsTheSample) {
  HostLinkPoint p{.up = true, .ranks = 3, .bytes = 4096};
  const Timing t{.seconds = {1, 5, 2}, .repeats = 15};
  EXPECT_EQ(sample_of(p, t).time, Seconds(5));
  EXPECT_EQ(sample_of(p, t).raw, t.seconds);
  EXPECT_EQ(std::get<OtherSample>(sample_of(p, t).point).what,
            "host_to_device of all ranks at once");
  p.alone = true;
  EXPECT_EQ(sample_of(p, t).time, Seconds(2)) << "the median of one rank's blocks";
  EXPECT_EQ(std::get<OtherSample>(sample_of(p, t).point).what, "host_to_device of one rank");
}

// Rank 1's device takes much longer: its time is at its place.
TEST(HostLinks, TimesAreInTheOrderOfRanks) {
  const JobPart part = JobPart::of_threads(3);
  const auto runner = job_ranks(part.ranks());
  const Timing t = time_on_ranks(
      *runner, {.ranks = 3, .group = 3}, {.seconds = 1e-9, .repeats = 2},
      [](Communicator& comm, Device&) -> RankCall {
        const double seconds = comm.rank() + 1;
        return {.call = [] {}, .seconds = [=] { return seconds; }, .each_rank = true};
      });
  EXPECT_EQ(t.seconds, (std::vector<double>{1, 2, 3}));
}

TEST(HostLinks, AreInAGpusCalibration) {
  ClusterSpec c;
  c.name = "four";
  c.gpu.peak_fp32 = c.gpu.peak_bf16 = c.gpu.peak_fp8 = FlopsPerSecond(1e14);
  c.gpu.memory_bandwidth = BytesPerSecond(1e12);
  c.tiers.push_back({"nvlink", 0, BytesPerSecond(1e11), Seconds(1e-6)});
  LinkJob job(4);
  FakeBench bench(0.1);
  CalibrateConfig config{.point_seconds = 0.001, .bench = &bench, .runner = job.runner.get()};
  config.collective_bytes = 4096;
  const CalibrationResult r = calibrate(c, config);
  EXPECT_EQ(std::count_if(r.samples.begin(), r.samples.end(),
                          [](const Sample& s) { return s.name.starts_with("host links: "); }),
            6);
}

}  // namespace
}  // namespace pleat
