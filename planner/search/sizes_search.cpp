// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/sizes_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

template <class Key>
const SizeResult* least(const std::vector<SizeResult>& sizes, const Key& key) {
  const SizeResult* best = nullptr;
  for (const SizeResult& s : sizes) {
    if (s.result.best.empty()) continue;
    if (best == nullptr || key(s) <= key(*best)) best = &s;
  }
  return best;
}

// Whether the batch divides over the data-parallel groups of some plan of that size: the odd
// factors of the size must divide the batch, because other degrees cannot take them all.
bool divides(int gpus, std::int64_t batch) {
  while (gpus % 2 == 0) gpus /= 2;
  return batch % gpus == 0;
}

}  // namespace

std::vector<int> sizes_down(int gpus, int smallest, std::int64_t batch, int gpus_per_node) {
  std::vector<int> sizes;
  smallest = std::max(1, smallest);
  while (gpus >= smallest) {
    sizes.push_back(gpus);
    const int step = gpus > gpus_per_node ? std::max(1, gpus_per_node) : 1;
    int fewer = batch % gpus == 0 ? 0 : (gpus - 1) / step * step;
    while (fewer > gpus / 2 && !divides(fewer, batch)) fewer -= step;
    const bool found = fewer > gpus / 2 && fewer >= smallest;
    if (found) sizes.push_back(fewer);
    if (gpus % 2 == 0) gpus /= 2;
    else if (found) gpus = fewer / 2;
    else break;
  }
  return sizes;
}

std::vector<SizeResult> search_sizes(const Problem& problem,
                                     SearchConfig config, int smallest) {
  std::vector<SizeResult> sizes;
  bool stopped = false;
  for (const int gpus : sizes_down(config.gpus, smallest, problem.workload.global_batch,
                                   problem.cluster.gpus_per_node)) {
    SizeResult& size = sizes.emplace_back();
    size.gpus = config.gpus = gpus;
    if (stopped) {
      size.problem = "not reached";
      size.result.optimal = false;
      continue;
    }
    try {
      size.result = search(problem, config);
      if (size.result.best.empty()) {
        size.problem = size.result.optimal ? "nothing fits" : "a limit came first";
      }
      stopped = !size.result.optimal;
    } catch (const ConfigError& e) {
      if (sizes.size() == 1) throw;  // what was asked for
      size.problem = e.diagnostics().front().message;
    }
    config = rest_of_limits(config, size.result.seconds, size.result.priced);
  }
  return sizes;
}

std::optional<SizeResult> faster_on_fewer(const Problem& problem,
                                          SearchConfig config, Seconds value) {
  const std::vector<int> sizes =
      sizes_down(config.gpus, config.gpus / 2 + 1, problem.workload.global_batch,
                 problem.cluster.gpus_per_node);
  if (sizes.size() < 2) return {};
  SizeResult fewer;
  fewer.gpus = config.gpus = sizes[1];
  config.top = 1;
  config.not_above = Seconds(std::nextafter(value.base(), 0));
  try {
    fewer.result = search(problem, config);
  } catch (const ConfigError&) {  // no valid plan
    return {};
  }
  if (fewer.result.best.empty()) return {};
  return fewer;
}

double gpu_seconds(const SizeResult& s, bool robust) {
  return s.gpus * value_of(s.result.best.front().estimate, robust).base();
}

void certify_sizes(const std::vector<SizeResult>& sizes, Objective objective, int gpus,
                   SearchResult& best) {
  best.objective = objective;
  for (const SizeResult& s : sizes) {
    const SearchResult& r = s.result;
    best.optimal = best.optimal && r.optimal;
    if (r.optimal && r.best.empty()) continue;  // no plan
    const double share = objective == Objective::gpu_time ? static_cast<double>(s.gpus) / gpus : 1;
    best.bound = std::min(best.bound, r.bound * share);
  }
}

const SizeResult* fastest_size(const std::vector<SizeResult>& sizes, bool robust) {
  return least(
      sizes, [&](const SizeResult& s) { return value_of(s.result.best.front().estimate, robust); });
}

const SizeResult* cheapest_size(const std::vector<SizeResult>& sizes, bool robust) {
  return least(sizes, [&](const SizeResult& s) { return gpu_seconds(s, robust); });
}

}  // namespace pleat
