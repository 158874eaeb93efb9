// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/microbench/host_links.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

constexpr std::size_t kSharedEvery = 3;  // points measured again with the cores shared
constexpr int kHostLaunches = 100;

// The call through the kernel set on one element, again and again.
KernelPoint launch_point() {
  return {.name = kLaunchPoint,
          .kernel = KernelClass::memory_bound,
          .flops = 0,
          .bytes = 4.0 * kHostLaunches,
          .prepare = [](Bench& bench, unsigned seed) -> std::function<void()> {
            const Buffer x(bench, 1, 1, seed);
            return [=, &bench] {
              for (int i = 0; i < kHostLaunches; ++i) bench.kernels().zero(x.view());
            };
          }};
}

Sample other(const std::string& name, const std::string& what, double bytes, const Timing& t) {
  return {.name = name,
          .point = OtherSample{what, Bytes(bytes)},
          .time = Seconds(median(t.seconds)),
          .repeats = t.repeats,
          .raw = t.seconds};
}

// What points hold on to.
struct Where {
  Bench* bench;
  RankRunner* runner;
  PlanLimits limits;
};

TimingLimits part_of(TimingLimits limits, double share) {
  limits.seconds *= share;
  return limits;
}

Timing time_other(const Where& at, const OtherPoint& p) {
  const KernelPoint point{.name = p.name,
                          .kernel = KernelClass::memory_bound,
                          .flops = 0,
                          .bytes = p.bytes,
                          .prepare = [&p](Bench&, unsigned) { return p.prepare(); },
                          .by_host = p.by_host,
                          .share = p.share};
  return time_alone(*at.bench, point, part_of(at.limits.kernel, point.share));
}

class Planner {
 public:
  Planner(const Where& at, PointSet set) : at_(at), set_(set) {}

  std::vector<PlannedPoint> plan() {
    std::vector<std::vector<KernelPoint>> sweeps{gemm_points(set_), grouped_gemm_points(set_),
                                                 attention_points(set_), memory_bound_points(set_),
                                                 routing_points(set_)};
    sweeps.push_back(set_ == PointSet::cpu ? state_points() : attention_piece_points());
    sweeps.push_back(narrow_points(set_));
    if (set_ == PointSet::gpu) {
      sweeps.push_back(mla_piece_points());
      sweeps.push_back(judged_kernel_points());
    }
    for (const auto& points : sweeps) {
      for (const KernelPoint& p : points) add_alone(p);
      if (set_ == PointSet::gpu || at_.runner->world() < 2) continue;
      for (std::size_t i = 0; i < points.size(); i += kSharedEvery) add_shared(points[i]);
    }
    // Attention first: while copies and launches are measured the GPU cools down for the product.
    const bool sustained = set_ == PointSet::gpu && at_.limits.sustained_seconds > 0;
    if (sustained) add_sustained(sustained_attention(), kSustainedAttention);
    const KernelPoint launch = launch_point();
    add(
        launch.name, "launch",
        [at = at_, launch] { return time_alone(*at.bench, launch, at.limits.kernel); },
        [](const Timing& t) { return other(kLaunchPoint, "launch", 0, t); });
    for (const OtherPoint& p : at_.bench->other_points()) {
      add(
          p.name, p.what, [at = at_, p] { return time_other(at, p); },
          [p](const Timing& t) { return other(p.name, p.what, p.bytes, t); });
      points_.back().seconds *= p.share;
    }
    if (sustained) add_sustained(sustained_product(), kSustained);
    const int world = at_.runner->world();
    for (int ranks = 2; ranks <= world; ranks *= 2) add_collectives(ranks);
    if (set_ == PointSet::gpu) {
      add_collectives(fmt::format("collectives side by side on {} ranks", world),
                      concurrent_points(world, at_.limits.collective_bytes), at_.limits.collective);
      add_collectives(fmt::format("both ways on {} ranks", world),
                      both_ways_points(world, at_.limits.collective_bytes), brief());
      add_collectives(fmt::format("groups of no power of two, {} ranks", world),
                      odd_group_points(world, at_.limits.collective_bytes), brief());
      add_overlap(world);
      add_host_links(world);
    }
    return std::move(points_);
  }

 private:
  void add(std::string name, std::string family, std::function<Timing()> measure,
           std::function<Sample(const Timing&)> sample) {
    points_.push_back({std::move(name), std::move(family), false, at_.limits.kernel.seconds,
                       std::move(measure), std::move(sample)});
  }
  // The last point is of all processes.
  void of_all(const TimingLimits& limits) {
    points_.back().all_processes = true;
    points_.back().seconds = limits.seconds;
  }
  [[nodiscard]] TimingLimits brief() const {
    return part_of(at_.limits.collective, kJudgedShare);
  }
  void add_alone(const KernelPoint& p) {
    add(
        p.name, name_of(p.kernel),
        [at = at_, p] { return time_alone(*at.bench, p, part_of(at.limits.kernel, p.share)); },
        [p](const Timing& t) { return sample_of(p, 1, t); });
    points_.back().seconds *= p.share;
  }
  void add_shared(const KernelPoint& p) {
    const int threads = at_.runner->world();
    add(
        fmt::format("{}, {} threads", p.name, threads),
        fmt::format("kernels on {} threads", threads),
        [at = at_, p, threads] { return time_shared(p, threads, at.limits.kernel); },
        [p, threads](const Timing& t) { return sample_of(p, threads, t); });
  }
  void add_sustained(const KernelPoint& p, const char* what) {
    const std::string name = fmt::format("{}, {:g} s", p.name, at_.limits.sustained_seconds);
    add(
        name, what,
        [at = at_, p] { return time_sustained(*at.bench, p, at.limits.sustained_seconds); },
        [=](const Timing& t) { return other(name, what, p.bytes, t); });
    points_.back().seconds = at_.limits.sustained_seconds;
  }
  void add_collectives(const std::string& family, const std::vector<CollectivePoint>& points,
                       const TimingLimits& limits) {
    for (const CollectivePoint& p : points) {
      add(
          name_of(p), family,
          [at = at_, p, limits] { return time_collective(*at.runner, p, limits); },
          [p](const Timing& t) { return sample_of(p, t); });
      of_all(limits);
    }
  }
  void add_overlap(int world) {
    const TimingLimits limits = brief();
    for (const OverlapPoint& p :
         overlap_points(world, at_.limits.overlap, at_.limits.collective_bytes)) {
      add(
          name_of(p), fmt::format("overlap on {} ranks", world),
          [at = at_, p, limits] { return time_overlap(*at.runner, p, limits); },
          [p](const Timing& t) { return sample_of(p, t); });
      of_all(limits);
    }
  }
  void add_host_links(int world) {
    const TimingLimits limits = brief();
    for (const HostLinkPoint& p :
         host_link_points(world, std::min(kHostLinkBytes, at_.limits.collective_bytes))) {
      add(
          name_of(p), fmt::format("host links of {} ranks", world),
          [at = at_, p, limits] { return time_host_link(*at.runner, p, limits); },
          [p](const Timing& t) { return sample_of(p, t); });
      of_all(limits);
    }
  }
  void add_collectives(int ranks) {
    const std::string family = fmt::format("collectives of {} ranks", ranks);
    const auto points = collective_points(ranks, at_.limits.collective_bytes);
    const TimingLimits limits = at_.limits.collective;
    add_collectives(family, points, limits);
    if (at_.limits.windows) add_collectives(family + " in windows", in_windows(points), limits);
    if (set_ == PointSet::gpu) {
      add_collectives(family + ", judged", judged_points(ranks, at_.limits.collective_bytes),
                      brief());
    }
    const std::string name = barrier_point(ranks);
    add(
        name, family,
        [at = at_, ranks] { return time_barrier(*at.runner, ranks, at.limits.collective); },
        [name](const Timing& t) { return other(name, "barrier", 0, t); });
    of_all(limits);
  }
  Where at_;
  PointSet set_;
  std::vector<PlannedPoint> points_;
};

}  // namespace

std::string barrier_point(int ranks) { return fmt::format("barrier of {} ranks", ranks); }

std::vector<PlannedPoint> plan_points(Bench& bench, PointSet set, RankRunner& runner,
                                      const PlanLimits& limits) {
  return Planner({&bench, &runner, limits}, set).plan();
}

// FNV-1a.
std::string digest_of(const std::vector<PlannedPoint>& points) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const PlannedPoint& p : points) {
    for (const char c : p.name + "\n")
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace pleat
