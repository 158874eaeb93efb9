// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A product, attention, SwiGLU and a copy beside collectives: which stream each is on, who waits
// for whom, and that ranks of devices, of threads and of NCCL's stand-in get through it.
#include "calibration/microbench/overlap.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "backend/comm/job_part.hpp"
#include "calibration/calibrate.hpp"
#include "core/median.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"
#include "tests/calibration/noting_communicator.hpp"

namespace pleat {
namespace {

constexpr StreamWorkSizes kSmall{
    .n = 16, .tokens = 4, .rows = 2, .copied = 4096, .type = DType::fp32};
constexpr std::array kWorks = {StreamWorkKind::product, StreamWorkKind::attention,
                               StreamWorkKind::swiglu, StreamWorkKind::copy_to_host};
constexpr std::size_t kPoints = kWorks.size() * (1 + 2 * kCollectives) + kCollectives;

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
  void enqueue_copy(void* to, const void* from, std::int64_t bytes) override {
    EXPECT_TRUE(hidden(from) && !hidden(to)) << "to the host";
    notes.push_back(fmt::format("copy of {} on {}", bytes, stream));
    CheckingDevice::enqueue_copy(to, from, bytes);
  }
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

std::vector<std::string> notes_of(OverlapPart part,
                                  StreamWorkKind work = StreamWorkKind::product) {
  OneRank runner;
  const OverlapPoint p{part, {.kind = Collective::all_reduce, .bytes = 64}, work, kSmall};
  const Timing t = time_overlap(runner, p, {.seconds = 1e-9, .repeats = 1});
  EXPECT_EQ(t.seconds.size(), 5U);
  // Of the last call.
  std::vector<std::string>& notes = runner.device_.notes;
  const std::size_t copies =
      work == StreamWorkKind::copy_to_host && part != OverlapPart::collective ? 1 : 0;
  const std::size_t each = copies + (part == OverlapPart::work          ? 2
                                     : part == OverlapPart::work_beside ? 7
                                                                        : 5);
  EXPECT_EQ(runner.device_.stream, 0);
  return {notes.end() - static_cast<std::ptrdiff_t>(each), notes.end()};
}

TEST(Overlap, CollectiveHasAStreamOfItsOwnFromTheWorksBeginOn) {
  using ::testing::ElementsAre;
  EXPECT_THAT(notes_of(OverlapPart::both),
              ElementsAre("mark on 0", "1 waits for 0", "call on 1", "mark on 1", "0 waits for 1"));
  EXPECT_THAT(notes_of(OverlapPart::collective),
              ElementsAre("mark on 0", "1 waits for 0", "call on 1", "mark on 1", "0 waits for 1"));
  // The mark is from before the work.
  for (const StreamWorkKind work :
       {StreamWorkKind::product, StreamWorkKind::attention, StreamWorkKind::swiglu}) {
    EXPECT_THAT(notes_of(OverlapPart::work_beside, work),
                ElementsAre("mark on 0", "moment on 0", "moment on 0", "1 waits for 0",
                            "call on 1", "mark on 1", "0 waits for 1"));
    EXPECT_THAT(notes_of(OverlapPart::work, work), ElementsAre("moment on 0", "moment on 0"));
  }
  EXPECT_THAT(notes_of(OverlapPart::work_beside, StreamWorkKind::copy_to_host),
              ElementsAre("mark on 0", "moment on 0", "copy of 4096 on 0", "moment on 0",
                          "1 waits for 0", "call on 1", "mark on 1", "0 waits for 1"));
  EXPECT_THAT(notes_of(OverlapPart::both, StreamWorkKind::copy_to_host),
              ElementsAre("mark on 0", "copy of 4096 on 0", "1 waits for 0", "call on 1",
                          "mark on 1", "0 waits for 1"));
}

// Of the device's moments, a second for each piece of work, and not of the host's clock.
TEST(Overlap, WorksOwnTimeIsTheDevices) {
  for (const StreamWorkKind work : kWorks) {
    for (const OverlapPart part : {OverlapPart::work, OverlapPart::work_beside}) {
      OneRank runner;
      const OverlapPoint p{part, {.kind = Collective::all_reduce, .bytes = 64}, work, kSmall};
      const Timing t = time_overlap(runner, p, {.seconds = 60, .repeats = 3});
      EXPECT_EQ(t.seconds, std::vector<double>(5, 1.0));
      EXPECT_EQ(t.repeats, 15);
    }
  }
}

// The results are what the kernel makes of the operands.
TEST(Overlap, WorkIsWhatItIsCalled) {
  const auto host = host_device();
  const auto kernels = cpu_kernels();
  for (const StreamWorkKind kind : kWorks) {
    StreamWork work(*host, kind, kSmall);
    work.run();
    const std::vector<View>& x = work.operands();
    if (kind == StreamWorkKind::copy_to_host) {
      EXPECT_EQ(std::memcmp(work.host(), x[0].data, 4096), 0);
      continue;
    }
    const std::size_t result = kind == StreamWorkKind::product ? 2 : 1;
    const auto* got = static_cast<const float*>(x[result].data);
    std::vector<float> want(static_cast<std::size_t>(x[result].elements())), sums(4 * 32);
    const View to{want.data(), DType::fp32, x[result].rows, x[result].cols};
    if (kind == StreamWorkKind::product) {
      kernels->gemm(x[0], false, x[1], true, to, false);
    } else if (kind == StreamWorkKind::swiglu) {
      kernels->swiglu(x[0], {}, to);
    } else {
      kernels->attention(x[0], to, {sums.data(), DType::fp32, 4, 32},
                         {.seq = 4, .heads = 32, .kv_groups = 8, .head_dim = 128,
                          .scale = 1 / std::sqrt(128.0)});
    }
    EXPECT_EQ(std::vector<float>(got, got + want.size()), want) << name_of(kind);
  }
}

TEST(Overlap, EveryKindBesideEveryWorkAndAlone) {
  std::set<std::string> names, whats;
  for (const OverlapPoint& p : overlap_points(4, kSmall, 65536)) {
    EXPECT_TRUE(names.insert(name_of(p)).second) << name_of(p);
    const Sample s = sample_of(p, {.seconds = {1}, .repeats = 1});
    whats.insert(std::get<OtherSample>(s.point).what);
  }
  EXPECT_EQ(names.size(), kPoints);
  EXPECT_EQ(whats.size(), names.size());
  for (const char* name :
       {"overlap: product alone, 16x16x16, 4 ranks",
        "overlap: all_reduce 65536 B, 4 of 4 ranks, alone, 16",
        "overlap: all_reduce 65536 B, 4 of 4 ranks, beside product, 16",
        "overlap: send_recv (in one call) 65536 B, 2 of 4 ranks, and product, 16",
        "overlap: attention alone, 4 tokens, 4 ranks",
        "overlap: all_to_all 65536 B, 4 of 4 ranks, beside attention, 4 tokens",
        "overlap: all_gather 65536 B, 4 of 4 ranks, and swiglu, 2 rows",
        "overlap: reduce_scatter 65536 B, 4 of 4 ranks, beside copy to the host, 4096 B"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_TRUE(whats.contains("attention beside all_to_all"));
  EXPECT_TRUE(overlap_points(4, {}, 65536).empty());
  EXPECT_TRUE(overlap_points(1, kSmall, 65536).empty());
  // The product alone, as before there was anything else.
  EXPECT_EQ(overlap_points(4, {.n = 16}, 65536).size(), 1 + 3 * kCollectives);
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
              static_cast<std::ptrdiff_t>(kPoints));
  }
}

}  // namespace
}  // namespace pleat
