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

// GPUs of a domain to pay for when `used` of them work, in units of `booked` that are no larger.
int paid_of_domain(int used, int domain, int booked) {
  return std::min(up_to_multiple(used, booked), std::max(domain, used));
}

// All GPUs to pay for.
int paid_gpus(const Placement& p, int used, int domain, int booked) {
  if (booked > domain) return up_to_multiple(p.domains * domain, booked);
  return (p.domains - 1) * paid_of_domain(used, domain, booked) +
         paid_of_domain(p.used_in_last, domain, booked);
}

}  // namespace

PlacementResult place_job(const Job& job, const Rates& rates) {
  PlacementResult result;
  Placement& p = result.placement;
  const int booked = static_cast<int>(rates.at(Rate::booked_gpus));
  const int used = std::min(job.used_in_domain, job.gpus);
  p.domains = (job.gpus + used - 1) / used;
  p.used_in_last = job.gpus - (p.domains - 1) * used;
  if (p.domains > 1 && used * 2 < job.domain) {
    result.problem = fmt::format(
        "{} GPUs fill only {} of the {} GPUs of each network domain alike; take a multiple of a "
        "larger part",
        job.gpus, used, job.domain);
    return result;
  }
  p.paid_gpus = paid_gpus(p, used, job.domain, booked);
  const double away = job.gpus / rates.at(Rate::gpu_mtbf) * rates.at(Rate::replaced_share) *
                      rates.at(Rate::repair);  // nodes, on average
  const double target = rates.at(Rate::spare_target);
  // Of each domain; what only the last one has left serves no stage of another.
  const int of_each = booked > job.domain ? p.paid_gpus / p.domains
                                          : paid_of_domain(used, job.domain, booked);
  const int slack = (of_each - used) / job.gpus_per_node;
  p.available = target;
  if (slack > 0) {
    p.spare_units = slack * p.domains;
    p.unit_gpus = job.gpus_per_node;
  }
  if (std::pow(poisson_cdf(away / p.domains, slack), p.domains) >= target) return result;
  p.spare_units = poisson_quantile(away, target);
  p.unit_gpus = std::max(job.gpus_per_node, job.domain);
  p.paid_gpus += up_to_multiple(p.spare_units * p.unit_gpus, booked);
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
