// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calibration/fit/curve_fit.hpp"
#include "calibration/fit/family.hpp"
#include "core/diagnostics.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

constexpr double kLeastBand = 0.1, kMostBand = 1.0;

struct SharedPoint {
  double ratio = 1;  // slow-down over threads / cores
  Seconds time;      // for fit_family: 1, so that errors are those of the ratio
};

class ProfileFitter {
 public:
  ProfileFitter(const std::vector<Sample>& samples, const ClusterSpec& cluster)
      : samples_(samples), cluster_(cluster), cores_(cluster.shared_cores) {
    PLEAT_ASSERT(!cluster.tiers.empty());
  }

  FittedProfile run() {
    fit_kernels();
    fit_sharing();  // before the collectives, whose times contain it
    fit_collectives();
    // Errors of the families do not all have the same sign: their mean is the band of a sum.
    double sum = 0;
    int families = 0;
    for (const Residual& r : result_.residuals) {
      if (!r.kind.empty() || !r.held_out_median) continue;
      sum += *r.held_out_median;
      ++families;
    }
    result_.profile.relative_band = std::clamp(sum / std::max(1, families), kLeastBand, kMostBand);
    judge(samples_, cluster_, result_.profile, result_.residuals);  // of no constant
    return std::move(result_);
  }

 private:
  // Of arithmetic that is narrow (fp8) or that is not.
  [[nodiscard]] Family<WorkPoint> work_of(KernelClass kernel, bool narrow) const {
    Family<WorkPoint> family{name_of(kernel) + std::string(narrow ? " fp8" : "")};
    for (const Sample& s : samples_) {
      const auto* k = std::get_if<KernelSample>(&s.point);
      if (k == nullptr || k->kernel != kernel || k->threads != 1) continue;
      if (counts_flops(kernel) && is_quantized(k->math) != narrow) continue;
      if (sees_all_keys(*k) || !k->judged.empty()) continue;
      family.add(s.name, {k->flops, k->bytes, s.time, k->math});
    }
    return family;
  }

  EfficiencyCurve fit_points(const Family<WorkPoint>& family, std::vector<Residual>& residuals) {
    return fit_family(
        family, [&](const auto& seen) { return fit_kernel(seen, cluster_.gpu); },
        [&](const auto& curve, const WorkPoint& p) { return predict(curve, p, cluster_.gpu); },
        true, residuals);
  }

  void fit_kernels() {
    std::array<bool, kKernelClasses> measured{};
    // Where laws price arithmetic, its curves are for what these do not cover, and are not judged.
    const bool laws = has_laws(samples_, cluster_);
    std::vector<Residual> unused;
    for (std::size_t k = 0; k < kKernelClasses; ++k) {
      const auto kernel = static_cast<KernelClass>(k);
      const bool judged = !laws || !counts_flops(kernel);
      const Family<WorkPoint> wide = work_of(kernel, false);
      if (!wide.points.empty()) {
        result_.profile.kernels[k] = fit_points(wide, judged ? result_.residuals : unused);
        measured[k] = true;
      }
      if (!counts_flops(kernel) || laws) continue;
      // A profile has one curve a family: that of narrow products is only reported.
      const Family<WorkPoint> narrow = work_of(kernel, true);
      if (!narrow.points.empty() && cluster_.gpu.peak_fp8.base() > 0) {
        static_cast<void>(fit_points(narrow, result_.residuals));
      }
    }
    if (laws) result_.tables = fit_laws(samples_, cluster_, result_.profile, result_.residuals);
    // A family of no kernel here, such as conversion to narrow types, is taken as plain copies.
    for (std::size_t k = 0; k < kKernelClasses; ++k) {
      if (!measured[k] && !counts_flops(static_cast<KernelClass>(k))) {
        result_.profile.kernels[k] = result_.profile.kernel(stand_in(static_cast<KernelClass>(k)));
      }
    }
  }

  void fit_sharing() {
    if (cores_ <= 0) return;
    std::map<std::string, Seconds> alone;
    for (const Sample& s : samples_) {
      const auto* kernel = std::get_if<KernelSample>(&s.point);
      if (kernel && kernel->threads == 1) alone[s.name] = s.time;
    }
    int threads = 0;
    Family<SharedPoint> shared;
    std::array<std::vector<double>, kKernelClasses> by_class;
    for (const Sample& s : samples_) {
      const auto* kernel = std::get_if<KernelSample>(&s.point);
      if (!kernel || kernel->threads < std::max(2, cores_)) continue;
      const auto single = alone.find(s.name);
      if (single == alone.end()) continue;
      threads = std::max(threads, kernel->threads);
      const double ratio = (s.time / single->second) * cores_ / kernel->threads;
      shared.add(s.name, {ratio, Seconds(1)});
      by_class[static_cast<std::size_t>(kernel->kernel)].push_back(ratio);
    }
    if (shared.points.empty()) return;
    shared.name = fmt::format("shared by {} threads", threads);
    for (std::size_t k = 0; k < kKernelClasses; ++k) {
      if (by_class[k].empty()) continue;
      result_.profile.kernels[k].contention = std::max(1.0, median(by_class[k]));
    }
    result_.profile.sharing_penalty = fit_family(
        shared,
        [](const auto& seen) {
          std::vector<double> ratios;
          for (const SharedPoint& p : seen) ratios.push_back(p.ratio);
          return median(ratios);
        },
        [](double penalty, const SharedPoint& p) { return Seconds(penalty / p.ratio); }, false,
        result_.residuals);
  }

  [[nodiscard]] double slowdown(int ranks) const {
    if (cores_ <= 0 || ranks <= cores_) return 1;
    return static_cast<double>(ranks) / cores_ * result_.profile.sharing_penalty;
  }

  // Of groups that have the machine to themselves: what others side by side cost is the
  // simulator's, and what windows spare is to be looked at in the samples.
  [[nodiscard]] Family<WirePoint> collective_points_of(Collective kind, std::size_t tier) const {
    Family<WirePoint> family{family_of(kind, tier, cluster_)};
    for (const Sample& s : samples_) {
      const auto* sample = std::get_if<CollectiveSample>(&s.point);
      if (sample == nullptr || sample->collective != kind) continue;
      if (tier_of(*sample, cluster_) != tier || !sample->judged.empty()) continue;
      if (2 * sample->group <= sample->ranks && kind != Collective::send_recv) continue;
      if (sample->windows) continue;
      family.add(s.name, {sample->group, sample->wire, s.time / slowdown(sample->ranks)});
    }
    return family;
  }

  // A tier without measurements beside one that has them takes the one before it.
  void fit_collectives() {
    auto& fitted = result_.profile.collectives;
    fitted.resize(1);
    for (std::size_t tier = 0; tier < cluster_.tiers.size(); ++tier) {
      const BytesPerSecond bandwidth = cluster_.tiers[tier].bandwidth;
      for (std::size_t c = 0; c < kCollectives; ++c) {
        const auto kind = static_cast<Collective>(c);
        const Family<WirePoint> family = collective_points_of(kind, tier);
        if (family.points.empty()) continue;
        while (fitted.size() <= tier) fitted.push_back(fitted.back());
        fitted[tier][c] = fit_family(
            family, [&](const auto& seen) { return fit_collective(seen, bandwidth); },
            [&](const auto& curve, const WirePoint& p) { return predict(curve, p, bandwidth); },
            false, result_.residuals);
      }
    }
  }

  const std::vector<Sample>& samples_;
  const ClusterSpec& cluster_;
  int cores_;
  FittedProfile result_;
};

}  // namespace

FittedProfile fit(const std::vector<Sample>& samples, const ClusterSpec& cluster) {
  return ProfileFitter(samples, cluster).run();
}

}  // namespace pleat
