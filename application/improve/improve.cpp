// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/improve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "application/exchange/watch.hpp"
#include "application/explain/single_changes.hpp"
#include "application/improve/script_patch.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/numerics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/megatron_log.hpp"
#include "planner/plan.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastGain = 3e-3;      // of a step; less is not worth a flag
constexpr double kShareOfChanges = 0.5;  // of the time; the rest is the search's
constexpr double kNearlyFull = 0.95;     // of the GPU's memory
constexpr std::size_t kMostLog = std::size_t{1} << 30;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_plan_file(const std::string& file) { return file.ends_with(".json"); }

Profile profile_of(const std::string& name, const std::string& cluster_name,
                   const ClusterSpec& cluster) {
  if (!name.empty()) return load_profile(name);
  if (auto found = find_usual_profile(cluster_name, Runtime::megatron))
    return std::move(found->profile);
  return datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::megatron);
}

// The same degrees on another number of GPUs: data parallelism takes up the difference.
void move_to(PlanDocument& d, int gpus, const std::string& file) {
  AttentionMapping& a = d.plan.attention;
  ExpertMapping& e = d.plan.expert;
  const int dense = a.tp * a.cp * a.pp, expert = e.etp * e.ep * a.pp;
  if (gpus % dense != 0 || gpus % expert != 0) {
    throw_config_error(ExitCode::bad_request, "--gpus", "",
                       fmt::format("{} does not fit {}: TP x CP x PP is {}, ETP x EP x PP {}", gpus,
                                   file, dense, expert),
                       "a multiple of both");
  }
  a.dp = gpus / dense;
  e.edp = gpus / expert;
  d.gpus = gpus;
}

struct Job {
  PlanDocument document;
  std::vector<interop::NamedText> texts;
};

Job read_job(const ImproveOptions& o, ImprovedJob& out) {
  Job job;
  const std::string& file = o.job.files.front();
  if (is_plan_file(file)) {
    if (o.job.files.size() > 1)
      throw_config_error(ExitCode::bad_request, "FILE", "", "a plan file stands alone", "one file");
    job.document = read_plan_document(read_text_file(file), file);
    if (o.job.gpus > 0 && o.job.gpus != job.document.gpus) move_to(job.document, o.job.gpus, file);
    return job;
  }
  if (file.ends_with(".py") || file.ends_with(".toml")) {
    throw_config_error(ExitCode::bad_request, "FILE", "",
                       fmt::format("{} is not read: scripts and YAML files with arguments of "
                                   "Megatron-LM, and plan files are",
                                   file),
                       "`pleat import megatron-log` reads what a run of it prints");
  }
  for (const std::string& f : o.job.files) job.texts.push_back({f, read_text_file(f)});
  MegatronJob read = read_megatron_job(o.job, job.texts);
  job.document = std::move(read.run.document);
  for (std::string& s : read.run.assumed) out.notes.push_back("assumed: " + std::move(s));
  for (std::string& s : read.run.ignored) out.notes.push_back("no counterpart: " + std::move(s));
  for (std::string& s : read.unpriced) out.notes.push_back("not priced: " + std::move(s));
  return job;
}

void read_measured(const ImproveOptions& o, const PlanDocument& d, ImprovedJob& out) {
  if (o.log.empty()) return;
  const interop::RunLog log = interop::read_run_log(read_text_file(o.log, kMostLog));
  require_same_run(log, d, o.log, o.job.files.front());
  const interop::MegatronLog lines = interop::parse_megatron_log(read_text_file(o.log, kMostLog));
  const std::size_t all = lines.iterations.size();
  out.measured =
      log_times(lines, std::min<std::size_t>(3, all > 1 ? all - 1 : 0), o.log).median_seconds;
}

PlanDocument document_of(const ImprovedJob& job, const Plan& plan) {
  PlanDocument d;
  d.model = job.target.model;
  d.model_name = job.target.model.name;
  d.workload = job.target.workload;
  d.gpus = job.target.gpus;
  d.runtime = job.target.runtime;
  d.plan = plan;
  return d;
}

Improvement improvement(const ImprovedJob& job, std::string what, const Plan& before,
                        const StepEstimate& was, const Plan& after, StepEstimate now) {
  Improvement i{std::move(what), after, std::move(now), 0, 0, change_risks(before, after), {}};
  i.gain = 1 - i.estimate.step.base() / was.step.base();
  i.more_bytes = i.estimate.peak_bytes() - was.peak_bytes();
  i.flags = flag_changes(document_of(job, before), document_of(job, after));
  const auto capacity = static_cast<double>(job.target.cluster.gpu.memory.base());
  if (static_cast<double>(i.estimate.peak_bytes()) > kNearlyFull * capacity)
    i.risks.emplace_back("less than 5% of the memory is left");
  return i;
}

// Shorter first; of plans that do not fit the smaller.
bool is_better(const StepEstimate& a, const StepEstimate& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.peak_bytes() < b.peak_bytes();
}

void change_one_by_one(const ImproveOptions& o, const Estimator& price, Clock::time_point begin,
                       ImprovedJob& job) {
  Plan plan = job.plan;
  StepEstimate now = job.estimate;
  for (int n = 0; n < o.changes && seconds_since(begin) < kShareOfChanges * o.seconds; ++n) {
    std::vector<PlanChange> changes = single_changes(job.target, plan);
    if (!o.numerics) std::erase_if(changes, [](const PlanChange& c) { return c.arithmetic; });
    std::vector<StepEstimate> priced(changes.size());
    for_each_in_parallel(changes.size(), thread_count(o.threads),
                         [&](std::size_t i) { priced[i] = price(changes[i].plan); });
    std::size_t best = changes.size();
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (best == changes.size() || is_better(priced[i], priced[best])) best = i;
    if (best == changes.size() || !is_better(priced[best], now)) return;
    const bool gains = priced[best].step.base() < (1 - kLeastGain) * now.step.base();
    if (now.fits && !gains) return;
    job.steps.push_back(improvement(job, std::move(changes[best].text), plan, now,
                                    changes[best].plan, priced[best]));
    plan = changes[best].plan;
    now = priced[best];
  }
}

void search_rest(const ImproveOptions& o, Clock::time_point begin, ImprovedJob& job) {
  const double left = o.seconds - seconds_since(begin);
  if (left < 0.2) return;
  PlanRequest request;
  request.search.gpus = job.target.gpus;
  request.search.runtime = job.target.runtime;
  request.search.top = 1;
  request.search.numerics = {numerics_of(job.plan)};
  request.search.time_limit = left;
  request.search.threads = o.threads;
  request.search.progress = [&](const SearchProgress&) { return seconds_since(begin) < o.seconds; };
  SearchResult found;
  try {
    found = plan(job.target, request).result;
  } catch (const ConfigError&) {
    return;  // no plan of these formats
  }
  job.searched_all = found.optimal;
  if (found.best.empty()) return;
  const StepEstimate& now = job.steps.empty() ? job.estimate : job.steps.back().estimate;
  const Candidate& best = found.best.front();
  const bool faster = best.estimate.step.base() < (1 - kLeastGain) * now.step.base();
  if (best.estimate.fits && (faster || !now.fits))
    job.best =
        improvement(job, "what a search found", job.plan, job.estimate, best.plan, best.estimate);
}

// The patched file is read again: what it does not say is said.
void make_patch(const ImproveOptions& o, const Job& read, ImprovedJob& job) {
  if (read.texts.empty() || job.steps.empty()) return;
  const auto is_yaml = [](const std::string& name) {
    return name.ends_with(".yaml") || name.ends_with(".yml");
  };
  std::vector<interop::NamedText> texts = read.texts;
  interop::NamedText& main = texts.front();
  const std::string before = main.text;
  main.text = change_flags(before, is_yaml(main.name), job.flags);
  job.patch = unified_diff(before, main.text, main.name);
  const Plan& wanted = job.steps.back().plan;
  try {
    JobFiles files = o.job;
    files.gpus = job.target.gpus;
    const Plan got = read_megatron_job(files, texts).run.document.plan;
    for (const FlagChange& c : flag_changes(document_of(job, got), document_of(job, wanted)))
      job.unpatched.push_back(to_text(c));
  } catch (const ConfigError& e) {
    job.unpatched.push_back(one_line(e));
  }
}

}  // namespace

ImprovedJob improve_job(const ImproveOptions& o,
                        const std::function<void(const ImprovedJob&)>& early) {
  const Clock::time_point begin = Clock::now();
  ImprovedJob job;
  const Job read = read_job(o, job);
  const PlanDocument& d = read.document;
  std::string cluster = o.cluster.empty() ? d.cluster : o.cluster;
  if (cluster.empty()) {
    cluster = "h100-sxm";
    job.notes.emplace_back("assumed: --cluster h100-sxm");
  }
  require_valid({d.model, d.workload, d.plan, d.gpus}, o.job.files.front());
  read_measured(o, d, job);
  Target& t = job.target;
  t.model = d.model;
  t.workload = d.workload;
  t.cluster = load_cluster(cluster);
  t.profile = profile_of(o.profile, cluster, t.cluster);
  t.gpus = d.gpus;
  job.plan = d.plan;
  if (const char* const rule = refused_by(t.runtime, t.model, t.workload, job.plan, t.cluster.gpu))
    job.refusal = why_refused(rule);
  const Estimator price(t.model, t.workload, t.cluster, t.profile, t.runtime);
  job.estimate = price(job.plan);
  change_one_by_one(o, price, begin, job);
  if (!job.steps.empty())
    job.flags = flag_changes(document_of(job, job.plan), document_of(job, job.steps.back().plan));
  make_patch(o, read, job);
  job.seconds = seconds_since(begin);
  if (early) early(job);
  search_rest(o, begin, job);
  job.seconds = seconds_since(begin);
  return job;
}

}  // namespace pleat
