// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/capacity/find_offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/quantity.hpp"
#include "core/spec/expert_load.hpp"
#include "planner/capacity/answer.hpp"
#include "planner/capacity/placement.hpp"
#include "planner/layout/layout_polish.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search/search.hpp"
#include "simulator/cost/used_domain.hpp"
#include "simulator/estimate.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kFirstLook = 20;  // estimates
constexpr int kBriefRounds = 256;        // of a search that need not prove its plan
constexpr double kMuchSooner = 1.02;     // by less, no other plan is searched for
constexpr int kPolished = 5;             // plans whose layouts are made better; the best is taken

// B0 doubled as the GPUs are, up to the critical batch.
std::int64_t batch_of(const CapacityQuestion& request, const CapacitySite& site, int gpus) {
  std::int64_t batch = site.target.workload.global_batch;
  if (!request.critical_batch) return batch;
  for (std::int64_t n = 2 * std::int64_t{site.sizes.front()}; n <= gpus; n *= 2) {
    const double tokens = 2.0 * static_cast<double>(batch * site.target.workload.seq_len);
    if (tokens > *request.critical_batch) break;
    batch *= 2;
  }
  return batch;
}

// McCandlish et al., arXiv:1812.06162: tokens grow as 1 + batch / critical batch.
double tokens_with(const CapacityQuestion& request, const CapacitySite& site, std::int64_t batch) {
  if (!request.critical_batch) return request.tokens;
  const double seq = static_cast<double>(site.target.workload.seq_len);
  const auto price = [&](std::int64_t b) {
    return 1 + static_cast<double>(b) * seq / *request.critical_batch;
  };
  return request.tokens * price(batch) / price(site.target.workload.global_batch);
}

struct Found {  // neither: interrupted
  std::optional<Candidate> candidate;
  std::string problem;
  bool proven = true;  // that no plan is better, or that there is none
};

// `above`: of a plan that is known. Then plans are ranked by the upper end of their band, and those
// above it are of no interest. `brief`: the search ends after some rounds, with a good plan, or
// goes on if it has none by then.
Found best_plan(const CapacitySite& site, const Problem& problem, int gpus, int threads,
                std::vector<int> pp, const WorkHooks& hooks, const KeepSearching& keep_searching,
                bool whole, bool brief, std::optional<Seconds> above, KnownPrices& known) {
  SearchConfig config;
  config.robust = above.has_value();
  if (above) config.not_above = *above;
  config.pin<"pp">() = std::move(pp);
  config.gpus = gpus;
  config.runtime = site.target.runtime;
  config.numerics = site.numerics;
  config.free_numerics = site.free_numerics;
  config.told_numerics = site.told_numerics;
  config.top = kPolished;
  config.certain = 1;
  config.threads = threads;
  config.progress = keep_searching;
  if (brief) config.max_rounds = kBriefRounds;
  if (!whole) {
    config.pin<"cp">() = {1};
    config.offload = false;
    config.max_evaluations = kFirstLook;
  }
  try {
    SearchResult result = search(problem, config, &known);
    if (brief && !above && result.best.empty() && !result.optimal && hooks.goes_on()) {
      config.max_rounds = 0;
      result = search(problem, config, &known);
    }
    if (whole && hooks.goes_on()) polish_layouts(problem, config, result, &known);
    // Interrupted, the best so far is better than nothing.
    if (!result.best.empty()) return {std::move(result.best.front()), {}, result.optimal};
    if (above) return {{}, {}, result.optimal};
    if (!result.optimal) return {};
    const double usable = site.target.cluster.gpu.memory.base() * (1 - config.memory_margin);
    const double missing =
        static_cast<double>(result.nearest.front().estimate.peak_bytes()) - usable;
    return {{}, fmt::format("no plan fits in memory: {:.1f} GiB a GPU too much",
                            std::max(missing, 0.0) / kGiB),
            true};
  } catch (const ConfigError& e) {
    return {{}, "no valid plan: " + e.diagnostics().front().message, true};
  }
}

Job job_of(const CapacitySite& site, const WorkloadSpec& workload, int gpus,
           const Candidate& found) {
  const ClusterSpec& cluster = site.target.cluster;
  NetworkTier inner = cluster.tiers.front();
  if (inner.size == 0) inner.size = cluster.gpus_per_node;
  Job job;
  job.cluster = cluster.name;
  job.gpus = gpus;
  job.domain = inner.size;
  job.used_in_domain = used_domain(inner, gpus, gpus / found.plan.attention.pp);
  job.gpus_per_node = cluster.gpus_per_node;
  job.stage_gpus = gpus / found.plan.attention.pp;
  job.plan = found.plan;
  job.step = found.estimate.step;
  job.band = found.estimate.relative_band;
  job.mfu = found.estimate.mfu;
  job.mfu_of_precision = found.estimate.mfu_of_precision;
  job.global_batch = workload.global_batch;
  job.step_tokens = workload.global_batch * workload.seq_len;
  const ParameterCount count = count_parameters(site.target.model);
  job.parameters = count.total + count.mtp;
  job.peak_bytes = found.estimate.peak_bytes();
  job.host_bytes = found.estimate.host_bytes;
  job.host_memory = cluster.host_memory;
  job.host_link = cluster.gpu.host_link;
  job.gpu_power = cluster.gpu.tdp;
  return job;
}

// The step of the plan while experts are loaded as under an auxiliary loss, over its own.
double load_spread(const CapacitySite& site, const WorkloadSpec& workload, const Job& job) {
  if (!site.usual_loads) return 1;
  WorkloadSpec loaded = workload;
  loaded.expert_spread = std::max(loaded.expert_spread, kAuxLossSpread);
  const Program program = compile(site.target.model, loaded, job.plan, site.target.runtime);
  const StepEstimate e = estimate(program, site.target.cluster, site.target.profile);
  return std::max(1.0, e.step / job.step);
}

void put_practice(const CapacityQuestion& request, const CapacitySite& site,
                  const WorkloadSpec& workload, Job& job) {
  const TuningFacts& tuning = facts_of(request.tuning);
  job.practice = tuning.median;
  job.practice_spread = tuning.p90 / tuning.median;
  job.load_spread = load_spread(site, workload, job);
}

// Whether another plan with the same step could end much sooner at P90, as it has a narrower band:
// at best that of a plan without token exchange and sharded weights.
bool band_matters(const CapacitySite& site, const Job& job) {
  Job narrow = job;
  narrow.band = relative_band(site.target.model, Plan{}, site.target.profile);
  return run_spread(job) > run_spread(narrow) * kMuchSooner;
}

}  // namespace

std::optional<Offer> find_offer(const CapacityQuestion& request, const CapacitySite& site, int gpus,
                                int threads, const WorkHooks& hooks,
                                const KeepSearching& keep_searching, bool whole) {
  Offer o;
  o.cluster = site.target.cluster.name;
  o.cluster_words = site.words;
  o.routing_words = site.routing;
  o.gpus = gpus;
  o.rates = site.rates;
  const ClusterSpec& cluster = site.target.cluster;
  if (cluster.max_gpus > 0 && gpus > cluster.max_gpus) {
    o.problem = fmt::format("{} has {} GPUs", o.cluster, cluster.max_gpus);
    return o;
  }
  WorkloadSpec workload = site.target.workload;
  workload.global_batch = batch_of(request, site, gpus);
  o.tokens = tokens_with(request, site, workload.global_batch);
  Problem problem = site.target;
  problem.workload = workload;
  KnownPrices known;  // what both searches share
  const auto found_with = [&](std::vector<int> pp, std::optional<Seconds> above) {
    return best_plan(site, problem, gpus, threads, std::move(pp), hooks, keep_searching, whole,
                     whole && !request.proven, above, known);
  };
  const auto offer_of = [&](const Found& found) {
    Offer offer = o;
    offer.problem = found.problem;
    offer.proven = found.proven;
    if (!found.candidate) return offer;
    offer.job = job_of(site, workload, gpus, *found.candidate);
    put_practice(request, site, workload, offer.job);
    offer.booking = book(offer.job, offer.rates, offer.tokens);
    offer.problem = offer.booking.problem;
    return offer;
  };
  // The plan with the shortest step may have a wide band; then P90 may be earlier with another one.
  const auto with_stages = [&](const std::vector<int>& pp) -> std::optional<Offer> {
    const Found found = found_with(pp, std::nullopt);
    if (!found.candidate && found.problem.empty()) return std::nullopt;
    Offer offer = offer_of(found);
    const bool asked = whole && request.goal.confidence == Confidence::p90;
    if (!found.candidate || !asked || !band_matters(site, offer.job)) return offer;
    const Found narrow = found_with(pp, found.candidate->estimate.high);
    offer.proven = offer.proven && narrow.proven;
    if (!narrow.candidate) return offer;
    Offer other = offer_of(narrow);
    other.proven = offer.proven;
    const bool earlier = other.booking.finish.p90 < offer.booking.finish.p90;
    return other.problem.empty() && (earlier || !offer.problem.empty()) ? other : offer;
  };
  std::optional<Offer> fastest = with_stages({});
  if (!fastest || fastest->job.cluster.empty()) return fastest;  // no plan
  const std::vector<int> filling =
      stages_that_fill(gpus, fastest->job.domain, fastest->job.used_in_domain);
  if (filling.empty() || !whole) return fastest;
  std::optional<Offer> filled = with_stages(filling);
  if (!filled) return std::nullopt;
  const bool proven = fastest->proven && filled->proven;
  Offer better = better_of(std::move(*fastest), std::move(*filled), request.goal);
  better.proven = proven;
  return better;
}

}  // namespace pleat
