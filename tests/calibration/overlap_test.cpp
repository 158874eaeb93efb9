// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A product beside collectives: which stream each is on, who waits for whom, and that ranks of
// devices, of threads and of NCCL's stand-in get through it.
#include "calibration/microbench/overlap.hpp"

#include <gmock/gmock.h>

#include <set>

#include "backend/comm/job_part.hpp"
#include "calibration/calibrate.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"
#include "tests/calibration/noting_communicator.hpp"

namespace pleat {
namespace {

constexpr OverlapProduct kSmall{.n = 16, .type = DType::fp32};

// Notes streams and waits. A moment is the number of those before it, a second apart.
class NotingDevice final : public test::CheckingDevice {
 public:
  NotingDevice() : CheckingDevice(Options{.streams = true}) {}
  void take_stream(int number) override {
    stream = number;
    CheckingDevice::take_stream(number);
  }
  std::uint64_t mark() override {
    notes.push_back(fmt::format("mark on {}", stream));
    return CheckingDevice::mark();
  }
  void wait_for(int other, std::uint64_t mark) override {
    notes.push_back(fmt::format("{} waits for {}", stream, other));
    CheckingDevice::wait_for(other, mark);
  }
  Moment moment() override {
    notes.push_back(fmt::format("moment on {}", stream));
    return std::make_shared<int>(moments++);
  }
  double seconds(const Moment& from, const Moment& to) override {
    return *static_cast<const int*>(to.get()) - *static_cast<const int*>(from.get());
  }
  std::vector<std::string> notes;
  int stream = 0, moments = 0;
};

// One rank by itself, of a group of two.
class OneRank final : public RankRunner {
 public:
  [[nodiscard]] int world() const override { return 2; }
  [[nodiscard]] int first_here() const override { return 0; }
  Device& device(int) override { return device_; }
  void run(const RankGroups&, const std::function<void(int, Communicator&)>& body) override {
    comm.on_call = [this] { device_.notes.push_back(fmt::format("call on {}", device_.stream)); };
    body(0, comm);
  }
  NotingDevice device_;
  test::NotingCommunicator comm{0, 2};
};

std::vector<std::string> notes_of(OverlapPart part) {
  OneRank runner;
  const OverlapPoint p{part, {.kind = Collective::all_reduce, .bytes = 64}, kSmall};
  const Timing t = time_overlap(runner, p, {.seconds = 1e-9, .repeats = 1});
  EXPECT_EQ(t.seconds.size(), 5U);
  // Of the last call.
  std::vector<std::string>& notes = runner.device_.notes;
  const std::size_t each = part == OverlapPart::product          ? 2
                           : part == OverlapPart::product_beside ? 7
                                                                 : 5;
  EXPECT_EQ(runner.device_.stream, 0);
  return {notes.end() - static_cast<std::ptrdiff_t>(each), notes.end()};
}

TEST(Overlap, CollectiveHasAStreamOfItsOwnFromTheProductsBeginOn) {
  using ::testing::ElementsAre;
  EXPECT_THAT(notes_of(OverlapPart::both),
              ElementsAre("mark on 0", "1 waits for 0", "call on 1", "mark on 1", "0 waits for 1"));
  EXPECT_THAT(notes_of(OverlapPart::collective),
              ElementsAre("mark on 0", "1 waits for 0", "call on 1", "mark on 1", "0 waits for 1"));
  // The mark is from before the product.
  EXPECT_THAT(notes_of(OverlapPart::product_beside),
              ElementsAre("mark on 0", "moment on 0", "moment on 0", "1 waits for 0", "call on 1",
                          "mark on 1", "0 waits for 1"));
  EXPECT_THAT(notes_of(OverlapPart::product), ElementsAre("moment on 0", "moment on 0"));
}

// Of the device's moments, a second for each product, and not of the host's clock.
TEST(Overlap, ProductsOwnTimeIsTheDevices) {
  for (const OverlapPart part : {OverlapPart::product, OverlapPart::product_beside}) {
    OneRank runner;
    const OverlapPoint p{part, {.kind = Collective::all_reduce, .bytes = 64}, kSmall};
    const Timing t = time_overlap(runner, p, {.seconds = 0.01, .repeats = 3});
    EXPECT_EQ(t.seconds, std::vector<double>(5, 1.0));
    EXPECT_EQ(t.repeats, 15);
  }
}

TEST(Overlap, EveryKindBesideAProductAndAlone) {
  std::set<std::string> names, whats;
  for (const OverlapPoint& p : overlap_points(4, kSmall, 65536)) {
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
    const Sample s = sample_of(p, {.seconds = {1}, .repeats = 1});
    whats.insert(std::get<OtherSample>(s.point).what);
  }
  EXPECT_EQ(names.size(), 1 + 3 * kCollectives);
  EXPECT_EQ(whats.size(), names.size());
  EXPECT_TRUE(names.contains("overlap: all_reduce 65536 B, 4 of 4 ranks, beside product, 16"));
  EXPECT_TRUE(
      names.contains("overlap: send_recv (in one call) 65536 B, 2 of 4 ranks, and product, 16"));
  EXPECT_TRUE(overlap_points(4, {}, 65536).empty());
  EXPECT_TRUE(overlap_points(1, kSmall, 65536).empty());
}

TEST(Overlap, BetweenThreadsOfTheHost) {
  const auto ranks = thread_ranks(3);
  for (const OverlapPoint& p : overlap_points(3, kSmall, 4096))
    EXPECT_GT(median(time_overlap(*ranks, p, {.seconds = 0.001, .repeats = 2}).seconds), 0)
        << name_of(p);
}

TEST(Overlap, IsInACalibrationThatAsksForIt) {
  ClusterSpec c;
  c.name = "four";
  c.gpu.peak_fp32 = c.gpu.peak_bf16 = c.gpu.peak_fp8 = FlopsPerSecond(1e14);
  c.gpu.memory_bandwidth = BytesPerSecond(1e12);
  c.tiers.push_back({"nvlink", 0, BytesPerSecond(1e11), Seconds(1e-6)});
  for (const bool nccl : {false, true}) {
    JobPart part = JobPart::of_threads(4);
    if (nccl) part.use_nccl(load_nccl(PLEAT_FAKE_NCCL));
    Devices devices;
    for (int i = 0; i < 4; ++i) {
      devices.push_back(std::make_unique<test::CheckingDevice>(
          test::CheckingDevice::Options{.by_itself = true, .streams = true}));
    }
    const auto ranks = job_ranks(part.ranks(), std::move(devices));
    FakeBench bench(0.1);
    CalibrateConfig config{.point_seconds = 0.001, .bench = &bench, .runner = ranks.get()};
    config.collective_bytes = 4096;
    config.overlap = kSmall;
    const CalibrationResult r = calibrate(c, config);
    EXPECT_TRUE(r.failed.empty());
    EXPECT_EQ(std::count_if(r.samples.begin(), r.samples.end(),
                            [](const Sample& s) { return s.name.starts_with("overlap: "); }),
              static_cast<std::ptrdiff_t>(1 + 3 * kCollectives));
  }
}

}  // namespace
}  // namespace pleat
