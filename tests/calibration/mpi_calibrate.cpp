// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Under mpirun: the collectives of a calibration on ranks that are processes, killed points and
// all.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "backend/comm/mpi_job.hpp"
#include "calibration/calibrate.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace {

int expect(bool holds, const char* what) {
  if (!holds) fmt::print(stderr, "not so: {}\n", what);
  return holds ? 0 : 1;
}

}  // namespace

int main(int, char** argv) {
  using namespace pleat;
  constexpr int kRanks = 4;
  const JobPart part = join_over_mpi({.ranks = 1, .world = kRanks, .fingerprint = "calibrate"});
  const auto ranks = job_ranks(part.ranks());
  ClusterSpec cluster;
  cluster.name = "four";
  cluster.gpu.peak_fp32 = cluster.gpu.peak_bf16 = cluster.gpu.peak_fp8 = FlopsPerSecond(1e14);
  cluster.gpu.memory_bandwidth = BytesPerSecond(1e12);
  cluster.tiers.push_back({"wire", 0, BytesPerSecond(1e10), Seconds(1e-6)});
  const std::string log = argv[1];
  int wrong = 0;
  for (const bool again : {false, true}) {
    FakeBench bench(0.1);
    CalibrateConfig config;
    config.point_seconds = 0.002;
    config.bench = &bench;
    config.runner = ranks.get();
    config.log_file = log;
    config.overlap = {.n = 16, .tokens = 4, .rows = 2, .copied = 4096, .type = DType::fp32};
    const CalibrationResult r = calibrate(cluster, config);
    if (ranks->first_here() != 0) {
      wrong += expect(r.samples.empty(), "only rank 0 has samples") +
               expect(bench.calls() == 0, "kernels are rank 0's");
      continue;
    }
    int collectives = 0;
    for (const Sample& s : r.samples) {
      const auto* c = std::get_if<CollectiveSample>(&s.point);
      if (c == nullptr) continue;
      ++collectives;
      wrong += expect(s.time.base() > 0 && s.raw.size() == 5, s.name.c_str());
    }
    const auto fitted = 2 * collective_points(2).size() + concurrent_points(kRanks).size();
    wrong += expect(fitted == 2 * kCollectives * 7 + 18, "the points");
    const auto all = fitted + judged_points(2).size() + judged_points(kRanks).size() +
                     both_ways_points(kRanks).size() + odd_group_points(kRanks).size();
    wrong += expect(all > fitted + 50, "the points that are judged");
    wrong += expect(collectives == static_cast<int>(all), "every collective of 2 and of 4 ranks");
    const auto beside = std::count_if(r.samples.begin(), r.samples.end(), [](const Sample& s) {
      return s.name.starts_with("overlap: ") && s.time.base() > 0;
    });
    wrong +=
        expect(beside == 4 * (1 + 2 * kCollectives) + kCollectives, "work beside every collective");
    const auto links = std::count_if(r.samples.begin(), r.samples.end(), [](const Sample& s) {
      const bool all = s.name.ends_with(", 4 of 4 ranks");
      return s.name.starts_with("host links: ") && s.raw.size() == (all ? 4U : 5U);
    });
    wrong += expect(links == 6, "copies of one rank and of all, a time for each");
    wrong += expect((bench.calls() == 0) == again, "the second time nothing is measured");
    wrong +=
        expect(r.profile.collectives.size() == 1 && r.profile.collectives[0][0].efficiency <= 1,
               "a curve");
  }
  // The same between devices whose memory the host cannot touch.
  Devices devices;
  devices.push_back(std::make_unique<test::CheckingDevice>(true));
  const auto on_devices = job_ranks(part.ranks(), std::move(devices));
  for (const CollectivePoint& p : collective_points(kRanks, 4096)) {
    const Timing t = time_collective(*on_devices, p, {.seconds = 0.002, .repeats = 2});
    wrong += expect(t.seconds.empty() == (on_devices->first_here() != 0), name_of(p).c_str());
  }
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
