// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

ErrorSummary summarise(const std::vector<double>& signed_errors) {
  std::vector<double> sizes;
  for (const double e : signed_errors) sizes.push_back(std::abs(e));
  return {.count = sizes.size(),
          .median = quantile(sizes, 0.5),
          .p90 = quantile(sizes, 0.9),
          .mean = mean(sizes),
          .worst = quantile(sizes, 1.0),
          .bias = quantile(signed_errors, 0.5)};
}

double regret(const std::vector<TimedLayout>& choices) {
  PLEAT_ASSERT(!choices.empty());
  const auto taken = std::min_element(
      choices.begin(), choices.end(),
      [](const TimedLayout& a, const TimedLayout& b) { return a.predicted < b.predicted; });
  const auto best = std::min_element(
      choices.begin(), choices.end(),
      [](const TimedLayout& a, const TimedLayout& b) { return a.measured < b.measured; });
  return taken->measured / best->measured - 1.0;
}

PairCount concordance(const std::vector<TimedLayout>& choices) {
  PairCount count;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = i + 1; j < choices.size(); ++j) {
      const double measured = choices[i].measured - choices[j].measured;
      const double predicted = choices[i].predicted - choices[j].predicted;
      if (measured == 0) continue;
      ++count.pairs;
      if (predicted == 0) count.same_order += 0.5;
      else if ((measured < 0) == (predicted < 0)) count.same_order += 1;
    }
  }
  return count;
}

namespace {

std::int64_t peak_of(const StepEstimate& e, PeakKind kind) {
  switch (kind) {
    case PeakKind::allocated: return e.peak_allocated_bytes();
    case PeakKind::reserved: return e.peak_reserved_bytes();
    case PeakKind::device: return e.peak_device_bytes();
  }
  return 0;
}

void compare(ComparedRun& row, const PreparedRun& prepared) {
  if (!prepared.request) {
    row.reason = prepared.reason;
    return;
  }
  row.step = measured_step(row.run, *prepared.request);
  PredictedRun predicted = predict_run(*prepared.request);
  row.reason = std::move(predicted.reason);
  row.prediction = std::move(predicted.prediction);
  if (!row.prediction) return;
  const StepEstimate& e = row.prediction->estimate;
  if (row.step) row.error = e.step.base() / row.step->seconds - 1.0;
  if (row.run.measured.peak_bytes) {
    row.memory_error = static_cast<double>(peak_of(e, row.run.measured.peak_kind)) /
                           *row.run.measured.peak_bytes -
                       1.0;
  }
}

}  // namespace

std::vector<ComparedRun> compare_runs(const std::vector<MeasuredRun>& runs, RunCatalog& catalog,
                                      int threads) {
  std::vector<ComparedRun> rows(runs.size());
  std::vector<PreparedRun> prepared;
  for (const MeasuredRun& run : runs) prepared.push_back(catalog.prepare(run));
  constexpr std::size_t kRound = 64;  // rows between two lines of progress
  for (std::size_t begin = 0; begin < runs.size(); begin += kRound) {
    progress("predicting run " + std::to_string(begin + 1) + " of " + std::to_string(runs.size()));
    const std::size_t count = std::min(kRound, runs.size() - begin);
    for_each_in_parallel(count, thread_count(threads), [&](std::size_t i) {
      ComparedRun& row = rows[begin + i];
      row.run = runs[begin + i];
      compare(row, prepared[begin + i]);
    });
  }
  progress("");
  return rows;
}

std::vector<std::pair<std::string, double>> largest_terms(const StepEstimate& e) {
  std::vector<std::pair<std::string, double>> terms;
  for (std::size_t k = 0; k < kCostClasses; ++k) {
    if (e.parts[k].base() > 0) {
      terms.emplace_back(name_of(static_cast<CostClass>(k)), e.parts[k].base());
    }
  }
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return terms;
}

}  // namespace pleat
