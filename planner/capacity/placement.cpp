// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/reliability/spares.hpp"

namespace pleat {
namespace {

int up_to_multiple(int count, int unit) { return (count + unit - 1) / unit * unit; }

// How many GPUs of a domain are paid for when `used` of them work. They come in units of `booked`
// GPUs, or of the whole domain where it is smaller.
int paid_of_domain(int used, int domain, int booked) {
  return std::min(up_to_multiple(used, booked), std::max(domain, used));
}

// How many GPUs are paid for when each domain has `spare` idle GPUs besides those that work.
int paid_gpus(const Placement& p, int spare, int domain, int booked) {
  if (booked > domain) return up_to_multiple(p.domains * domain, booked);
  return (p.domains - 1) * paid_of_domain(p.used_in_domain + spare, domain, booked) +
         paid_of_domain(p.used_in_last + spare, domain, booked);
}

// The placement that uses `used` GPUs of each domain and keeps `spare` GPUs idle beside them.
Placement placed(const Job& job, const Rates& rates, int used, int spare) {
  Placement p;
  const int booked = static_cast<int>(rates.at(Rate::booked_gpus));
  p.used_in_domain = used;
  p.domains = (job.gpus + used - 1) / used;
  p.used_in_last = job.gpus - (p.domains - 1) * used;
  p.paid_gpus = paid_gpus(p, spare, job.domain, booked);
  const double away = job.gpus / rates.at(Rate::gpu_mtbf) * rates.at(Rate::replaced_share) *
                      rates.at(Rate::repair);  // nodes, on average
  const double target = rates.at(Rate::spare_target);
  // The idle nodes of a domain in which so many GPUs work. They replace failed nodes of their own
  // domain only: stages of other domains cannot use them.
  const auto slack_of = [&](int working) {
    const int paid = booked > job.domain ? p.paid_gpus / p.domains
                                         : paid_of_domain(working + spare, job.domain, booked);
    return std::max(0, paid - working) / job.gpus_per_node;
  };
  const int slack = slack_of(used), last_slack = std::min(slack, slack_of(p.used_in_last));
  p.available = target;
  if (slack > 0) {
    p.spare_units = slack * (p.domains - 1) + last_slack;
    p.unit_gpus = job.gpus_per_node;
  }
  const auto suffices = [&](int working, int nodes) {
    return poisson_cdf(away * working / job.gpus, nodes);
  };
  if (std::pow(suffices(used, slack), p.domains - 1) * suffices(p.used_in_last, last_slack) >=
      target)
    return p;
  p.spare_units = poisson_quantile(away, target);
  p.unit_gpus = std::max(job.gpus_per_node, job.domain);
  p.paid_gpus += up_to_multiple(p.spare_units * p.unit_gpus, booked);
  return p;
}

}  // namespace

PlacementResult place_job(const Job& job, const Rates& rates) {
  PlacementResult result;
  const int used = std::min(job.used_in_domain, job.gpus);
  result.placement = placed(job, rates, used, 0);
  if (result.placement.domains > 1 && used * 2 < job.domain) {
    result.problem = fmt::format(
        "{} GPUs fill only {} of the {} GPUs of each network domain alike; take a multiple of a "
        "larger part",
        job.gpus, used, job.domain);
    return result;
  }
  const auto with_spares = [&](int of_each) {
    for (int spare = 0; of_each + spare <= job.domain; spare += job.gpus_per_node) {
      const Placement p = placed(job, rates, of_each, spare);
      if (p.paid_gpus < result.placement.paid_gpus) result.placement = p;
    }
  };
  with_spares(used);
  // Moving whole stages to other domains does not change the price of a step. Groups of ranks
  // within a stage stay in one domain, and transfers between stages are always priced as if
  // neighbours were in different domains (simulator/cost/group_place.cpp).
  const int stage = job.stage_gpus;
  if (result.placement.domains == 1 || stage <= 0 || used % stage != 0) return result;
  for (int fewer = used - stage; fewer > 0 && fewer * 2 >= job.domain; fewer -= stage) {
    with_spares(fewer);
  }
  return result;
}

std::vector<int> stages_that_fill(int gpus, int domain, int used) {
  std::vector<int> stages;
  const auto domains = [&](int each) { return (gpus + each - 1) / each; };
  if (gpus <= domain || domains(domain) >= domains(used)) return stages;
  for (int ranks = std::min(domain, gpus); ranks > 0; --ranks) {
    if (domain % ranks == 0 && gpus % ranks == 0) stages.push_back(gpus / ranks);
  }
  return stages;
}

}  // namespace pleat
