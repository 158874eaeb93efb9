// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <numeric>
#include <span>
#include <stdexcept>

#include "calibration/microbench/rank_work.hpp"
#include "calibration/sample_log.hpp"
#include "core/diagnostics.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

constexpr int kRepeats = 200, kLeastRepeats = 10, kLaunches = 100;

// What rank 0 has in its log, to the other processes.
std::vector<char> measured_points(RankRunner& runner, const std::vector<PlannedPoint>& points,
                                  const SampleLog* log) {
  std::vector<char> done(points.size(), 0);
  for (std::size_t i = 0; log != nullptr && i < points.size(); ++i) {
    done[i] = log->find(points[i].name) != nullptr ? 1 : 0;
  }
  const int world = runner.world();
  if (world < 2) return done;
  runner.run({.ranks = world, .group = world}, [&](int rank, Communicator& comm) {
    std::vector<char> mine = done, all(done.size() * static_cast<std::size_t>(world));
    comm.all_gather(std::as_bytes(std::span<const char>(mine)),
                    std::as_writable_bytes(std::span(all)));
    comm.barrier();  // all ranks here have read `done`
    if (rank == runner.first_here()) done.assign(all.begin(), all.begin() + std::ssize(done));
  });
  return done;
}

// The order in which points are measured: as planned, or, where time may end first, those that
// are constants by themselves and then so that any beginning is spread evenly over the plan (steps
// of the golden ratio).
std::vector<std::size_t> order_of(const std::vector<PlannedPoint>& points, int world, bool spread) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!spread) return order;
  const auto turn = [](std::size_t i) {
    const double turns = static_cast<double>(i) * std::numbers::phi;
    return turns - std::floor(turns);
  };
  std::vector<std::size_t> place(order);
  std::ranges::sort(place, {}, turn);  // the i-th of the plan is measured as the place[i]-th
  for (std::size_t i = 0; i < points.size(); ++i) order[place[i]] = i;
  std::ranges::stable_partition(order, [&](std::size_t i) {
    return points[i].name == kLaunchPoint || points[i].name == barrier_point(world);
  });
  return order;
}

class Run {
 public:
  Run(const CalibrateConfig& config, Bench& bench, RankRunner& runner)
      : config_(config), bench_(bench), runner_(runner) {}

  void measure(const std::vector<PlannedPoint>& points, SampleLog* log, CalibrationResult& result) {
    const std::vector<char> done = measured_points(runner_, points, log);
    const double start = seconds_now();
    const auto planned = static_cast<int>(std::count(done.begin(), done.end(), 0)) * config_.passes;
    std::vector<Timing> best(points.size());
    std::vector<char> left(points.size(), 0);  // for want of time
    const double within = config_.within_seconds;
    const std::vector<std::size_t> order = order_of(points, runner_.world(), within > 0);
    int measured = 0;
    for (int pass = 1; pass <= config_.passes; ++pass) {
      for (const std::size_t i : order) {
        const PlannedPoint& p = points[i];
        if (done[i] != 0 || (!p.all_processes && !runner_.has_first())) continue;
        if (within > 0 && seconds_now() - start >= within) {
          left[i] = best[i].seconds.empty() ? 1 : 0;
          continue;
        }
        if (config_.on_progress) {
          const double elapsed = seconds_now() - start;
          double ahead = measured == 0 ? 0 : elapsed / measured * (planned - measured);
          if (within > 0) ahead = std::min(ahead, within - elapsed);
          const auto all = static_cast<int>(points.size()) * config_.passes;
          config_.on_progress({p.family, p.name, all - planned + measured, all, ahead});
        }
        best[i] = quicker(std::move(best[i]), measure(p));
        ++measured;
        const bool last = pass == config_.passes && runner_.has_first();
        if (last && log != nullptr) log->add(p.name, best[i]);
      }
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (done[i] != 0) ++result.resumed;
      result.left += left[i];
      if (!runner_.has_first() || left[i] != 0) continue;
      keep(points[i], done[i] != 0 ? *log->find(points[i].name) : best[i], result);
    }
  }

 private:
  // A point too large for the device's memory is left out; ranks that lost each other are not, and
  // nothing is measured on a device that failed for good.
  Timing measure(const PlannedPoint& p) {
    if (p.all_processes) return p.measure();
    try {
      return p.measure();
    } catch (const std::runtime_error& e) {
      if (bench_.is_broken()) {
        throw_config_error(ExitCode::device_or_io, p.name, "",
                           fmt::format("the device failed for good: {}", e.what()),
                           "the same command goes on with this point");
      }
      return {};
    } catch (const std::bad_alloc&) {
      return {};
    }
  }
  // Of two passes; one that could not be measured is the slower.
  static Timing quicker(Timing a, Timing b) {
    if (a.seconds.empty()) return b;
    return b.seconds.empty() || median(a.seconds) <= median(b.seconds) ? a : b;
  }
  static void keep(const PlannedPoint& p, const Timing& t, CalibrationResult& result) {
    if (t.seconds.empty()) {
      result.failed.push_back(p.name);
    } else {
      result.samples.push_back(p.sample(t));
    }
  }

  const CalibrateConfig& config_;
  Bench& bench_;
  RankRunner& runner_;
};

const Sample* find(const std::vector<Sample>& samples, const std::string& name) {
  const auto it =
      std::find_if(samples.begin(), samples.end(), [&](const Sample& s) { return s.name == name; });
  return it == samples.end() ? nullptr : &*it;
}

}  // namespace

CalibrationResult calibrate(const ClusterSpec& cluster, const CalibrateConfig& config) {
  const double start = seconds_now();
  const auto own_bench = config.bench == nullptr ? cpu_bench() : nullptr;
  const auto own_ranks = config.runner == nullptr ? thread_ranks(config.ranks) : nullptr;
  Bench& bench = config.bench == nullptr ? *own_bench : *config.bench;
  RankRunner& runner = config.runner == nullptr ? *own_ranks : *config.runner;
  const double seconds = config.point_seconds / config.passes;
  const TimingLimits kernel{.seconds = seconds,
                            .repeats = kRepeats,
                            .confidence = config.confidence,
                            .least = kLeastRepeats,
                            .sets = config.sets};
  const TimingLimits collective{.seconds = seconds, .repeats = kRepeats};
  const PointSet set = config.bench == nullptr ? PointSet::cpu : PointSet::gpu;
  const PlanLimits limits{kernel,         collective,     config.collective_bytes,
                          config.windows, config.overlap, config.sustained_seconds};
  const auto points = plan_points(bench, set, runner, limits);
  CalibrationResult result;
  result.facts = bench.facts();
  result.facts.emplace_back("pleat", PLEAT_VERSION);
  result.facts.emplace_back("ranks", std::to_string(runner.world()));
  if (!config.collectives.empty()) result.facts.emplace_back("collectives", config.collectives);
  if (!config.nccl.empty()) result.facts.emplace_back("nccl", config.nccl);
  result.facts.emplace_back("plan", digest_of(points));
  std::unique_ptr<SampleLog> log;
  if (!config.log_file.empty() && runner.has_first()) {
    log = std::make_unique<SampleLog>(config.log_file, result.facts);
  }
  Run(config, bench, runner).measure(points, log.get(), result);
  // Not a point: of memory, and of what is made anew each time.
  for (int n = 2; set == PointSet::gpu && n <= runner.world(); n *= 2) {
    const std::int64_t bytes = communicator_bytes(runner, n);
    const std::string name = fmt::format("communicator_bytes_{}_ranks", n);
    if (bytes > 0) result.facts.emplace_back(name, std::to_string(bytes));
  }
  result.seconds = seconds_now() - start;
  if (!runner.has_first()) return result;
  for (auto& fact : bench.state()) result.facts.push_back(std::move(fact));

  FittedProfile fitted = fit(result.samples, cluster);
  Profile& p = fitted.profile;
  if (runner.world() < 2) {
    p.collectives =
        datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::pleat).collectives;
  }
  p.name = cluster.name + "-pleat";
  p.cluster = cluster.name;
  p.runtime = Runtime::pleat;
  p.created = config.created;
  if (const Sample* s = find(result.samples, kLaunchPoint)) p.host_per_op = s->time / kLaunches;
  // Ranks start and end a step together.
  if (const Sample* s = find(result.samples, barrier_point(runner.world())))
    p.step_overhead = s->time * 2;
  p.device_context = Bytes(static_cast<double>(bench.context_bytes()));
  for (const Sample& s : result.samples) {
    const auto* sample = std::get_if<OtherSample>(&s.point);
    if (sample == nullptr || sample->what != kSustained) continue;
    p.sustained_clock.gemm_bf16 = p.sustained_clock.gemm_fp8 = sustained_share(s.raw);
  }
  p.provenance = fmt::format("pleat calibrate, {} samples", result.samples.size());
  for (const auto& [name, value] : result.facts)
    p.provenance += fmt::format(", {} {}", name, value);
  result.profile = std::move(p);
  result.residuals = std::move(fitted.residuals);
  result.tables = std::move(fitted.tables);
  return result;
}

}  // namespace pleat
