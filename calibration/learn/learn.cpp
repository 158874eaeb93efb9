// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/learn/learn.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "calibration/learn/constants.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr double kOutlierScales = 3;  // further off than so many scales a run is called odd

struct Slope {
  double step = 0;  // seconds at the profile as it is now
  LearnedVector by_constant{};
};

// ln(step) is nearly linear in the logarithms of the constants: a few slopes do. Slower, since
// rates have an upper limit.
Slope slope_of(const RunToLearn& run, const Profile& profile, const LearnedVector& logs) {
  constexpr double kNudge = 0.03;
  Slope slope{run.price(moved_profile(profile, logs)).step.base(), {}};
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    LearnedVector nudged = logs;
    nudged[i] += kNudge;
    const double there = run.price(moved_profile(profile, nudged)).step.base();
    slope.by_constant[i] = std::log(there / slope.step) / kNudge;
  }
  return slope;
}

FitResult fit_constants(const Profile& profile, const std::vector<RunToLearn>& runs) {
  constexpr int kRounds = 3;
  const FitPrior prior = prior_of(profile);
  const double noise = run_noise(profile);
  FitResult fit;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<FitRow> rows;
    for (const RunToLearn& run : runs) {
      const Slope slope = slope_of(run, profile, fit.value);
      FitRow row{std::log(run.measured / slope.step), slope.by_constant, noise};
      for (std::size_t i = 0; i < kLearnedKinds; ++i) row.offset += row.slopes[i] * fit.value[i];
      rows.push_back(row);
    }
    fit = fit_robustly(rows, prior);
  }
  return fit;
}

// What runs differ by beyond their constants: as before, as far as these runs do not say otherwise.
double noise_of(const FitResult& fit, double scale) {
  constexpr double kRunsBefore = 4;  // what is known before counts as so many runs
  // A normal error with as wide an 80% band as Student's t of scale 1 has.
  constexpr double kNormal = 1.533 / kBandDeviations;
  double sum = kRunsBefore * scale * scale, count = kRunsBefore;
  for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
    sum += fit.weights[i] * fit.residuals[i] * fit.residuals[i];
    count += fit.weights[i];
  }
  return kNormal * std::sqrt(sum / count);
}

// A term is an error that all plans with a feature share: `runs` with it show what it is, as far as
// their own noise allows, and the constants take it up.
void narrow(double& term, double runs, double noise) {
  const double shared = term / kBandDeviations;
  term *= noise / std::sqrt(noise * noise + runs * shared * shared);
}

void narrow_terms(BandTerms& terms, const std::vector<RunToLearn>& runs, const FitResult& fit,
                  double noise) {
  double all = 0, experts = 0, nccl = 0, sharded = 0, hybrid = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double weight = fit.weights[i];
    all += weight;
    experts += runs[i].use.experts ? weight : 0;
    nccl += runs[i].use.nccl_exchange ? weight : 0;
    sharded += runs[i].use.sharded ? weight : 0;
    hybrid += runs[i].use.hybrid ? weight : 0;
    if (terms.largest_run > 0) terms.largest_run = std::max(terms.largest_run, runs[i].gpus);
  }
  narrow(terms.era, all, noise);
  narrow(terms.experts, experts, noise);
  narrow(terms.nccl_exchange, nccl, noise);
  narrow(terms.sharded, sharded, noise);
  narrow(terms.hybrid, hybrid, noise);
}

// What is left of the band if the constants were known, of a plan that depends on one of them
// alone; learned_band adds what another plan keeps of it.
double least_band(const Profile& profile, const FitPrior& prior, double noise) {
  const double known = kBandDeviations * *std::ranges::max_element(prior.deviation);
  const double band = profile.relative_band;
  return std::min(kBandDeviations * noise, std::sqrt(std::max(0.0, band * band - known * known)));
}

// The runs of which most are odd do not tell what their cluster is.
void require_agreement(const std::vector<LearnedRun>& runs) {
  std::vector<std::string> odd;
  for (const LearnedRun& run : runs) {
    if (run.outlier) {
      odd.push_back(
          fmt::format("{} took {:.3g} times as long", run.name, run.measured / run.before));
    }
  }
  if (2 * odd.size() <= runs.size()) return;
  throw_config_error(
      ExitCode::bad_file, runs.front().file, "",
      fmt::format("{} of {} runs are further from the profile than its constants explain: {}",
                  odd.size(), runs.size(), fmt::join(odd, ", ")),
      "check that they are runs of this cluster, with the settings that are stated; give more "
      "runs, or another --profile to begin with");
}

}  // namespace

Profile learn_from_runs(const Profile& profile, const std::vector<RunToLearn>& runs) {
  if (runs.empty()) {
    throw_config_error(ExitCode::bad_file, "--from-runs", "", "no run can be used",
                       "a run with its settings and its step time");
  }
  if (profile.learned) {
    throw_config_error(ExitCode::bad_file, profile.name, "learned",
                       "this profile has learned from runs before",
                       "begin with " + profile.learned->from + ", and give all runs at once");
  }
  const double scale = run_noise(profile);
  const FitResult fit = fit_constants(profile, runs);
  Learned learned;
  learned.from = profile.name;
  learned.noise = noise_of(fit, scale);
  learned.covariance = fit.covariance;
  Profile result = moved_profile(profile, fit.value);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunToLearn& run = runs[i];
    learned.runs.push_back({.file = run.file,
                            .name = run.name,
                            .what = run.what,
                            .measured = run.measured,
                            .before = run.price(profile).step.base(),
                            .after = run.price(result).step.base(),
                            .weight = fit.weights[i],
                            .outlier = std::abs(fit.residuals[i]) > kOutlierScales * scale});
  }
  require_agreement(learned.runs);
  const FitPrior prior = prior_of(profile);
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    learned.constants[i] = {.time_factor = std::exp(fit.value[i]),
                            .prior_error = prior.deviation[i],
                            .standard_error = std::sqrt(fit.covariance[i][i]),
                            .fields = moved_fields(static_cast<LearnedKind>(i), profile, result)};
  }
  result.relative_band = least_band(profile, prior, learned.noise);
  narrow_terms(result.band_terms, runs, fit, learned.noise);
  for (Era& era : result.eras) narrow_terms(era.run.band_terms, runs, fit, learned.noise);
  result.learned.pointer = std::make_shared<const Learned>(std::move(learned));
  return result;
}

}  // namespace pleat
