// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <span>
#include <stdexcept>

#include "calibration/sample_log.hpp"
#include "core/diagnostics.hpp"

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

class Run {
 public:
  Run(const CalibrateConfig& config, Bench& bench, RankRunner& runner)
      : config_(config), bench_(bench), runner_(runner) {}

  void measure(const std::vector<PlannedPoint>& points, SampleLog* log, CalibrationResult& result) {
    const std::vector<char> done = measured_points(runner_, points, log);
    const double start = seconds_now();
    const auto planned = static_cast<int>(std::count(done.begin(), done.end(), 0)) * config_.passes;
    std::vector<Timing> best(points.size());
    int measured = 0;
    for (int pass = 1; pass <= config_.passes; ++pass) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        const PlannedPoint& p = points[i];
        if (done[i] != 0 || (!p.all_processes && !runner_.has_first())) continue;
        if (config_.on_progress) {
          const double left =
              measured == 0 ? 0 : (seconds_now() - start) / measured * (planned - measured);
          const auto all = static_cast<int>(points.size()) * config_.passes;
          config_.on_progress({p.family, p.name, all - planned + measured, all, left});
        }
        best[i] = quicker(std::move(best[i]), measure(p));
        ++measured;
        const bool last = pass == config_.passes && runner_.has_first();
        if (last && log != nullptr) log->add(p.name, best[i]);
      }
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (done[i] != 0) ++result.resumed;
      if (!runner_.has_first()) continue;
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

const char* name_of(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm:
      return "gemm";
    case KernelClass::grouped_gemm:
      return "grouped_gemm";
    case KernelClass::attention_fwd:
      return "attention_fwd";
    case KernelClass::attention_bwd:
      return "attention_bwd";
    case KernelClass::memory_bound:
      return "memory_bound";
    case KernelClass::norm:
      return "norm";
    case KernelClass::activation:
      return "activation";
    case KernelClass::loss:
      return "loss";
    case KernelClass::router:
      return "router";
    case KernelClass::permute:
      return "permute";
    case KernelClass::quantize:
      return "quantize";
    case KernelClass::optimizer:
      return "optimizer";
    case KernelClass::rope:
      return "rope";
    case KernelClass::head_norm:
      return "head_norm";
    case KernelClass::sweep:
      return "sweep";
    case KernelClass::convert:
      return "convert";
    case KernelClass::dequantize:
      return "dequantize";
    case KernelClass::router_bwd:
      return "router_bwd";
    case KernelClass::embedding:
      return "embedding";
  }
  return "?";
}

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::send_recv:
      return "send_recv";
  }
  return "?";
}

std::string progress_line(const CalibrationProgress& p) {
  constexpr int kWidth = 20;
  const int filled = p.points == 0 ? 0 : kWidth * p.done / p.points;
  const int percent = p.points == 0 ? 0 : 100 * p.done / p.points;
  std::string line =
      fmt::format("[{:#<{}}{:.<{}}] {:3d}%  {}", "", filled, "", kWidth - filled, percent, p.name);
  if (p.seconds_left > 0) {
    const auto seconds = static_cast<int>(p.seconds_left + 0.5);
    line += fmt::format("  {}:{:02d} left", seconds / 60, seconds % 60);
  }
  return line;
}

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
  const auto points = plan_points(bench, config.bench == nullptr ? PointSet::cpu : PointSet::gpu,
                                  runner, {kernel, collective, config.collective_bytes, config.windows,
                                           config.sustained_seconds});
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

namespace {

std::string print_laws(const Profile& profile) {
  static constexpr const char* kNames[kGemmMaths] = {"bf16", "fp8", "fp8_block", "mxfp8", "nvfp4"};
  std::string text;
  for (std::size_t i = 0; i < kGemmMaths; ++i) {
    const GemmLaw& law = profile.gemm.by_math[i];
    if (law.rate <= FlopsPerSecond(0)) continue;
    text += fmt::format("{}{:<22}{:>9.0f} TFLOP/s{:>9.2f} us{:>9.2f} TB/s{:>12.2f}\n",
                        text.empty() ? "\nlaw of products                   rate       fixed     "
                                       "bandwidth        wave\n"
                                     : "",
                        kNames[i], law.rate.base() * 1e-12, law.fixed.base() * 1e6,
                        law.bandwidth.base() * 1e-12, law.wave);
  }
  const GroupedLaw& g = profile.gemm.grouped;
  if (!text.empty()) {
    text += fmt::format("grouped: {:.2f} of the rate ({:.2f} narrow, weight gradients {:.2f} of it)\n",
                        g.rate, g.narrow_rate, g.wgrad_rate);
  }
  return text;
}

}  // namespace

std::string print_residuals(const CalibrationResult& result) {
  std::string text = fmt::format("{:<30}{:>8}{:>10}{:>10}{:>14}{:>14}\n", "family", "points",
                                 "median", "held out", "median", "worst");
  for (const Residual& r : result.residuals) {
    const auto share = [](const std::optional<double>& error) {
      return error ? fmt::format("{:.1f}%", 100 * *error) : std::string("not measured");
    };
    text += fmt::format("{:<30}{:>8}{:>9.1f}%{:>10}{:>14}{:>14}\n",
                        r.kind.empty() ? r.family : "  " + r.kind, r.in_sample,
                        100 * r.in_sample_median, r.held_out, share(r.held_out_median),
                        share(r.held_out_worst));
  }
  text += fmt::format("\n{:<22}{:>12}{:>14}{:>12}{:>12}{:>12}\n", "kernel", "of peak", "half work",
                      "of memory", "fixed", "contention");
  for (std::size_t k = 0; k < kKernelClasses; ++k) {
    const EfficiencyCurve& c = result.profile.kernels[k];
    text += fmt::format("{:<22}{:>11.1f}%{:>10.3f} MF{:>11.1f}%{:>9.2f} us{:>12.3f}\n",
                        name_of(static_cast<KernelClass>(k)), 100 * c.max_efficiency,
                        c.half_work.base() / 1e6, 100 * c.memory_efficiency, c.fixed.base() * 1e6,
                        c.contention);
  }
  text += print_laws(result.profile);
  if (!result.profile.collectives.empty()) {
    text +=
        fmt::format("\n{:<22}{:>12}{:>14}{:>12}\n", "collective", "of link", "latency", "per rank");
    for (std::size_t c = 0; c < kCollectives; ++c) {
      const CollectiveCurve& curve = result.profile.collectives.front()[c];
      text += fmt::format("{:<22}{:>11.1f}%{:>11.2f} us{:>9.2f} us\n",
                          name_of(static_cast<Collective>(c)), 100 * curve.efficiency,
                          curve.latency.base() * 1e6, curve.latency_per_rank.base() * 1e6);
    }
  }
  text += fmt::format(
      "\nsharing penalty {:.3f}, host {:.3f} us per op, step overhead {:.1f} us, band "
      "+-{:.0f}%; {} samples in {:.1f} s\n",
      result.profile.sharing_penalty, result.profile.host_per_op.base() * 1e6,
      result.profile.step_overhead.base() * 1e6, 100 * result.profile.relative_band,
      result.samples.size(), result.seconds);
  return text;
}

}  // namespace pleat
