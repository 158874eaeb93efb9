// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/sizes_search.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

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

}  // namespace

std::vector<SizeResult> search_sizes(const ModelSpec& model, const ClusterSpec& cluster,
                                     const WorkloadSpec& workload, const Profile& profile,
                                     SearchConfig config, int smallest) {
  std::vector<SizeResult> sizes;
  for (int gpus = config.gpus; gpus >= std::max(1, smallest); gpus /= 2) {
    SizeResult& size = sizes.emplace_back();
    size.gpus = config.gpus = gpus;
    try {
      size.result = search(model, cluster, workload, profile, config);
      if (size.result.best.empty()) {
        size.problem = size.result.optimal ? "nothing fits" : "a limit came first";
      }
      if (!size.result.optimal) break;
    } catch (const ConfigError& e) {
      if (sizes.size() == 1) throw;  // what was asked for
      size.problem = e.diagnostics().front().message;
    }
    if (gpus % 2 != 0) break;
    if (config.time_limit > 0) {
      config.time_limit = std::max(1e-9, config.time_limit - size.result.seconds);
    }
    if (config.max_evaluations > 0) {
      config.max_evaluations =
          std::max<std::int64_t>(1, config.max_evaluations - size.result.priced);
    }
  }
  return sizes;
}

double gpu_seconds(const SizeResult& s, bool robust) {
  return s.gpus * value_of(s.result.best.front().estimate, robust).base();
}

const SizeResult* fastest_size(const std::vector<SizeResult>& sizes, bool robust) {
  return least(sizes,
               [&](const SizeResult& s) { return value_of(s.result.best.front().estimate, robust); });
}

const SizeResult* cheapest_size(const std::vector<SizeResult>& sizes, bool robust) {
  return least(sizes, [&](const SizeResult& s) { return gpu_seconds(s, robust); });
}

}  // namespace pleat
