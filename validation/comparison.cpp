// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/comparison.hpp"

#include <algorithm>

#include "console/output.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {
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
