// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "cli/interrupt.hpp"
#include "cli/report/capacity_report.hpp"
#include "cli/report/output.hpp"
#include "cli/workflow/capacity_request.hpp"
#include "core/diagnostics.hpp"
#include "planner/capacity/answer.hpp"
#include "planner/search.hpp"
#include "simulator/cost/used_domain.hpp"

namespace pleat::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr int kDoublingsBeyond = 3;  // of the largest size, when the deadline is missed

struct Interrupted {};

// Runs `work` on a thread of its own, so that Ctrl-C is heard while it runs. The thread is left
// behind then; the process ends soon after.
template <class Work>
auto hear_interrupts(Work work) -> decltype(work()) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (!interrupt_pending()) continue;
    thread.detach();
    throw Interrupted{};
  }
  thread.join();
  return result.get();
}

class Capacity {
 public:
  explicit Capacity(const CapacityOptions& o) : o_(o), request_(read_capacity_request(o)) {
    answer_.model = request_.sites.front().target.model.name;
    answer_.tokens = request_.tokens;
    answer_.seq_len = request_.sites.front().target.workload.seq_len;
    answer_.global_batch = request_.sites.front().target.workload.global_batch;
    answer_.critical_batch = request_.critical_batch;
    answer_.goal = request_.goal;
    for (const CapacitySite& site : request_.sites) total_ += site.sizes.size();
  }

  void run() {
    catch_interrupts();
    try {
      for (const CapacitySite& site : request_.sites) {
        for (const int gpus : site.sizes) answer_.offers.push_back(offer(site, gpus));
      }
      conclude();
    } catch (const Interrupted&) {
      progress("");
      answer_.complete = false;
      answer_.choice = choose(answer_.offers, answer_.goal);
      show();
      note("interrupted: the rest was not looked at");
      leave_interrupted();
    }
    progress("");
    show();
    if (!answer_.choice.cheapest) {
      throw_config_error(ExitCode::nothing_fits, "", "", misses_text(answer_));
    }
  }

 private:
  // B0 doubled as the GPUs are, up to the critical batch.
  [[nodiscard]] std::int64_t batch_of(const CapacitySite& site, int gpus) const {
    std::int64_t batch = site.target.workload.global_batch;
    if (!request_.critical_batch) return batch;
    for (std::int64_t n = 2 * std::int64_t{site.sizes.front()}; n <= gpus; n *= 2) {
      const double tokens = 2.0 * static_cast<double>(batch * site.target.workload.seq_len);
      if (tokens > *request_.critical_batch) break;
      batch *= 2;
    }
    return batch;
  }

  // McCandlish et al., arXiv:1812.06162: tokens grow as 1 + batch / critical batch.
  [[nodiscard]] double tokens_with(const CapacitySite& site, std::int64_t batch) const {
    if (!request_.critical_batch) return request_.tokens;
    const double seq = static_cast<double>(site.target.workload.seq_len);
    const auto price = [&](std::int64_t b) {
      return 1 + static_cast<double>(b) * seq / *request_.critical_batch;
    };
    return request_.tokens * price(batch) / price(site.target.workload.global_batch);
  }

  Offer offer(const CapacitySite& site, int gpus) {
    ++tried_;
    progress(fmt::format("{} of {}: {} x {}{}", tried_, total_, gpus, site.target.cluster.name,
                         best_so_far()));
    Offer o;
    o.cluster = site.target.cluster.name;
    o.gpus = gpus;
    o.rates = site.rates;
    const ClusterSpec& cluster = site.target.cluster;
    if (cluster.max_gpus > 0 && gpus > cluster.max_gpus) {
      o.problem = fmt::format("{} has {} GPUs", o.cluster, cluster.max_gpus);
      return o;
    }
    WorkloadSpec workload = site.target.workload;
    workload.global_batch = batch_of(site, gpus);
    o.tokens = tokens_with(site, workload.global_batch);
    const auto found = hear_interrupts([this, &site, workload, gpus] {
      return best_plan(site, workload, gpus);
    });
    o.problem = found.problem;
    if (!o.problem.empty()) return o;
    o.job = job_of(site, workload, gpus, *found.candidate);
    o.booking = book(o.job, o.rates, o.tokens);
    o.problem = o.booking.problem;
    return o;
  }

  struct Found {
    std::optional<Candidate> candidate;
    std::string problem;
  };
  [[nodiscard]] Found best_plan(const CapacitySite& site, const WorkloadSpec& workload,
                                int gpus) const {
    SearchConfig config;
    config.gpus = gpus;
    config.runtime = site.target.runtime;
    config.numerics.front().precision = site.precision;
    config.top = 1;
    config.threads = o_.threads;
    try {
      SearchResult result = search(site.target.model, site.target.cluster, workload,
                                   site.target.profile, config);
      if (!result.best.empty()) return {std::move(result.best.front()), {}};
      const double usable = site.target.cluster.gpu.memory.base() * (1 - config.memory_margin);
      const double missing =
          static_cast<double>(result.nearest.front().estimate.peak_bytes()) - usable;
      return {{}, fmt::format("no plan fits in memory: {:.1f} GiB a GPU too much",
                              std::max(missing, 0.0) / kGiB)};
    } catch (const ConfigError& e) {
      return {{}, "no valid plan: " + e.diagnostics().front().message};
    }
  }

  [[nodiscard]] static Job job_of(const CapacitySite& site, const WorkloadSpec& workload, int gpus,
                                  const Candidate& found) {
    const ClusterSpec& cluster = site.target.cluster;
    NetworkTier inner = cluster.tiers.front();
    if (inner.size == 0) inner.size = cluster.gpus_per_node;
    Job job;
    job.cluster = cluster.name;
    job.gpus = gpus;
    job.domain = inner.size;
    job.used_in_domain = used_domain(inner, gpus);
    job.gpus_per_node = cluster.gpus_per_node;
    job.plan = found.plan;
    job.step = found.estimate.step;
    job.band = site.target.profile.relative_band;
    job.mfu = found.estimate.mfu;
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

  [[nodiscard]] std::string best_so_far() const {
    const Choice choice = choose(answer_.offers, answer_.goal);
    if (!choice.cheapest) return "";
    const Offer& best = answer_.offers[*choice.cheapest];
    return fmt::format("; best so far {} x {}", best.gpus, best.cluster);
  }

  void conclude() {
    answer_.choice = choose(answer_.offers, answer_.goal);
    const Confidence c = answer_.goal.confidence;
    if (!answer_.choice.cheapest) {
      answer_.misses = misses_of(answer_.offers, larger_offers(), answer_.goal, answer_.tokens);
    }
    answer_.explained = answer_.goal.deadline ? answer_.choice.cheapest : answer_.choice.fastest;
    if (!answer_.explained) {
      answer_.explained = answer_.goal.deadline ? fastest_of(answer_.offers, c)
                                                : cheapest_of(answer_.offers, c);
    }
    if (answer_.explained) explain(answer_.offers[*answer_.explained]);
  }

  [[nodiscard]] const CapacitySite& site_of(const Offer& o) const {
    return *std::ranges::find_if(request_.sites, [&](const CapacitySite& s) {
      return s.target.cluster.name == o.cluster;
    });
  }

  // Beyond the range, on the cluster that came closest, until one is in time.
  std::vector<Offer> larger_offers() {
    std::vector<Offer> larger;
    const auto fastest = fastest_of(answer_.offers, answer_.goal.confidence);
    if (!fastest || request_.largest_asked == 0 || !answer_.goal.deadline) return larger;
    if (meets_deadline(answer_.offers[*fastest], answer_.goal)) return larger;
    const CapacitySite& site = site_of(answer_.offers[*fastest]);
    std::int64_t gpus = site.sizes.back();
    for (int i = 0; i < kDoublingsBeyond && (gpus *= 2) <= 16'777'216; ++i) {
      larger.push_back(offer(site, static_cast<int>(gpus)));
      const Offer& last = larger.back();
      if (last.problem.empty() && meets_deadline(last, answer_.goal)) break;
    }
    return larger;
  }

  void explain(const Offer& o) {
    progress("what matters most");
    const CapacitySite& site = site_of(o);
    WorkloadSpec workload = site.target.workload;
    workload.global_batch = o.job.global_batch;
    const Program program =
        compile(site.target.model, workload, o.job.plan, site.target.runtime);
    answer_.swings =
        sensitivity(o, answer_.goal.confidence, site.target.cluster, [&](const ClusterSpec& c) {
          return estimate(program, c, site.target.profile).step;
        });
  }

  void show() const {
    if (o_.json) {
      print(capacity_json(answer_, request_.assumed));
    } else if (o_.csv) {
      print(capacity_csv(answer_));
    } else {
      print(capacity_text(answer_) + "\n" + assumed_text(request_.assumed));
    }
  }

  const CapacityOptions& o_;
  CapacityRequest request_;
  CapacityAnswer answer_;
  std::size_t tried_ = 0, total_ = 0;
};

}  // namespace

void capacity(const CapacityOptions& options) { Capacity(options).run(); }

}  // namespace pleat::cli
