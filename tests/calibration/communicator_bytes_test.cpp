// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a communicator holds of a device: of one that is made in between, its buffers given back.
#include "calibration/microbench/rank_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "backend/comm/job_part.hpp"
#include "calibration/calibrate.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// Memory of which it is known how much is in use.
class CountedMemory final : public Memory {
 public:
  explicit CountedMemory(Memory& real) : real_(real) {}
  std::byte* allocate(std::int64_t bytes) override {
    std::byte* data = real_.allocate(bytes);
    const std::scoped_lock lock(mutex_);
    used += blocks_[data] = bytes;
    return data;
  }
  void release(std::byte* data) noexcept override {
    {
      const std::scoped_lock lock(mutex_);
      used -= blocks_[data];
      blocks_.erase(data);
    }
    real_.release(data);
  }
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    real_.fill(data, byte, bytes);
  }
  std::atomic<std::int64_t> used = 0;

 private:
  Memory& real_;
  std::mutex mutex_;
  std::map<std::byte*, std::int64_t> blocks_;
};

// A communicator takes 100 MiB of a device a member.
std::atomic<std::int64_t> communicators = 0;

class CountingDevice final : public test::CheckingDevice {
 public:
  explicit CountingDevice(bool says) : CheckingDevice(true), says_(says) {}
  Memory& memory() override { return counted_; }
  std::int64_t used_bytes() override {
    return says_ ? counted_.used + communicators * 100 * kMiB : 0;
  }

 private:
  CountedMemory counted_{CheckingDevice::memory()};
  bool says_;
};

// Counts the communicators that live.
class CountedCommunicators final : public Transport {
 public:
  explicit CountedCommunicators(Transport& real) : real_(real) {}
  [[nodiscard]] Rank rank() const override { return real_.rank(); }
  [[nodiscard]] int world() const override { return real_.world(); }
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    if (rank().value == 0) communicators += std::ssize(members);
    return real_.group(members);
  }
  [[nodiscard]] std::unique_ptr<Communicator> group_on(Device& device,
                                                       const std::vector<Rank>& members) override {
    if (rank().value == 0) communicators += std::ssize(members);
    return real_.group_on(device, members);
  }
  void abort(const std::string& reason) override { real_.abort(reason); }

 private:
  Transport& real_;
};

struct Job {
  explicit Job(int ranks, bool says = true) : part(JobPart::of_threads(ranks)) {
    communicators = 0;
    Devices devices;
    for (const auto& t : part.ranks()) {
      transports.push_back(std::make_unique<CountedCommunicators>(*t));
      devices.push_back(std::make_unique<CountingDevice>(says));
    }
    runner = job_ranks(transports, std::move(devices));
  }
  JobPart part;
  std::vector<std::unique_ptr<Transport>> transports;
  std::unique_ptr<RankRunner> runner;
};

// Not of the kept one, nor of the buffers that it was used with.
TEST(CommunicatorBytes, AreOfOneMore) {
  Job job(4);
  EXPECT_EQ(communicator_bytes(*job.runner, 2), 200 * kMiB);
  EXPECT_EQ(communicator_bytes(*job.runner, 4), 400 * kMiB);
  EXPECT_EQ(communicator_bytes(*job.runner, 4), 400 * kMiB);
  Job silent(2, false);
  EXPECT_EQ(communicator_bytes(*silent.runner, 2), 0);
}

TEST(CommunicatorBytes, AreInWhatACalibrationKeeps) {
  ClusterSpec c;
  c.name = "four";
  c.gpu.peak_fp32 = c.gpu.peak_bf16 = c.gpu.peak_fp8 = FlopsPerSecond(1e14);
  c.gpu.memory_bandwidth = BytesPerSecond(1e12);
  c.tiers.push_back({"nvlink", 0, BytesPerSecond(1e11), Seconds(1e-6)});
  for (const bool says : {true, false}) {
    Job job(4, says);
    FakeBench bench(0.1);
    CalibrateConfig config{.point_seconds = 1e-4, .bench = &bench, .runner = job.runner.get()};
    config.collective_bytes = 1024;
    const CalibrationResult r = calibrate(c, config);
    const std::pair<std::string, std::string> two{"communicator_bytes_2_ranks", "209715200"},
        four{"communicator_bytes_4_ranks", "419430400"};
    for (const auto& fact : {two, four})
      EXPECT_EQ(std::count(r.facts.begin(), r.facts.end(), fact), says ? 1 : 0) << fact.first;
    EXPECT_EQ(samples_json(r).find("communicator_bytes") != std::string::npos, says);
  }
}

}  // namespace
}  // namespace pleat
