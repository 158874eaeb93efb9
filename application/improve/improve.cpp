// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/improve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "application/exchange/watch.hpp"
#include "application/explain/single_changes.hpp"
#include "application/improve/keyed_job.hpp"
#include "application/improve/script_patch.hpp"
#include "application/request/request.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/numerics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/bridge_import.hpp"
#include "interop/megatron_log.hpp"
#include "interop/yaml_text.hpp"
#include "planner/plan.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastGain = 3e-3;      // of a step; less is not worth a flag
constexpr double kShareOfChanges = 0.5;  // of the time; the rest is the search's
constexpr double kShareOfEnd = 0.1;      // of the search's time, for what follows its last round
constexpr double kNearlyFull = 0.95;     // of the GPU's memory
constexpr std::size_t kMostLog = std::size_t{1} << 30;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Profile profile_of(const std::string& name, const std::string& cluster_name,
                   const ClusterSpec& cluster) {
  if (!name.empty()) return load_profile(name);
  if (auto found = find_usual_profile(cluster_name, Runtime::megatron))
    return std::move(found->profile);
  return datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::megatron);
}

struct Job {
  PlanDocument document;
  std::vector<interop::NamedText> texts;
  std::optional<KeyedJob> keyed;
};

void take_notes(interop::ImportedRun& run, std::vector<std::string>& unpriced, ImprovedJob& out) {
  for (std::string& s : run.assumed) out.notes.push_back("assumed: " + std::move(s));
  for (std::string& s : run.ignored) out.notes.push_back("no counterpart: " + std::move(s));
  for (std::string& s : unpriced) out.notes.push_back("not priced: " + std::move(s));
}

// run_config.yaml of Megatron-Bridge, which is written anew by each run: it gets no patch.
bool is_bridge(const std::string& file, const std::string& text) {
  if (!file.ends_with(".yaml") && !file.ends_with(".yml")) return false;
  const JsonValue root = interop::read_yaml(text, file);
  const JsonValue* const model = root.find("model");
  return model != nullptr && model->is_object() && root.find("train") != nullptr;
}

Job read_job(const ImproveOptions& o, ImprovedJob& out) {
  Job job;
  const std::string& file = o.job.files.front();
  if (is_recipe(file) && o.job.files.size() > 1)
    throw_config_error(ExitCode::bad_request, "FILE", "", "a recipe stands alone", "one file");
  RecipeOptions recipe = o.recipe;
  if (is_recipe(file))
    recipe.gpu = load_cluster(o.cluster.empty() ? "h100-sxm" : o.cluster).gpu.name;
  const std::string text =
      is_recipe(file) ? read_bridge_recipe(file, recipe) : read_text_file(file);
  if (const auto format = keyed_format(file, text)) {
    job.keyed.emplace(*format, o.job, o.seq_len.value_or(0), text);
    interop::KeyedRun read = job.keyed->read();
    job.document = read.run.document;
    job.texts.push_back({file, text});
    out.framework = job.keyed->framework();
    out.words = job.keyed->target();
    take_notes(read.run, read.unpriced, out);
    return job;
  }
  if (file.ends_with(".json")) {
    if (o.job.files.size() > 1)
      throw_config_error(ExitCode::bad_request, "FILE", "", "a plan file stands alone", "one file");
    job.document = read_plan_document(text, file);
    if (o.job.gpus > 0 && o.job.gpus != job.document.gpus)
      move_to_gpus(job.document, o.job.gpus, file);
    return job;
  }
  if (is_recipe(file) || is_bridge(file, text)) {
    interop::ImportChoices choices{.gpus = o.job.gpus, .vocab = o.job.vocab, .model = {}};
    if (!o.job.model.empty()) choices.model = load_model(o.job.model).model;
    interop::ImportedRun run = interop::import_arguments(
        interop::read_bridge_config(interop::read_yaml(text, file), file), choices, file);
    job.document = run.document;
    out.framework = "Megatron-Bridge";
    std::vector<std::string> none;
    take_notes(run, none, out);
    return job;
  }
  for (const std::string& f : o.job.files) job.texts.push_back({f, read_text_file(f)});
  MegatronJob read = read_megatron_job(o.job, job.texts);
  job.document = std::move(read.run.document);
  take_notes(read.run, read.unpriced, out);
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
  Improvement i{
      std::move(what), after, std::move(now), 0, 0, change_risks(before, after, job.words), {}};
  i.gain = 1 - i.estimate.step.base() / was.step.base();
  i.more_bytes = i.estimate.peak_bytes() - was.peak_bytes();
  i.flags = flag_changes(document_of(job, before), document_of(job, after), job.words);
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

void change_one_by_one(const ImproveOptions& o, const Estimator& price, const Job& read,
                       Clock::time_point begin, ImprovedJob& job) {
  Plan plan = job.plan;
  StepEstimate now = job.estimate;
  for (int n = 0; n < o.changes && seconds_since(begin) < kShareOfChanges * o.seconds; ++n) {
    std::vector<SingleChange> changes = single_changes(job.target, plan);
    if (!o.numerics) std::erase_if(changes, [](const SingleChange& c) { return c.arithmetic; });
    if (read.keyed)
      std::erase_if(changes, [&](const SingleChange& c) {
        return !read.keyed->can_say(document_of(job, c.plan));
      });
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

// Towards what the framework runs; what its file cannot say all the same is left out behind.
void pin_framework(const Job& read, SearchConfig& search) {
  if (!read.keyed || read.keyed->target() == interop::Target::megatron) return;
  search.top = search.certain = 40;
  search.offload = false;
  search.pin<"dispatcher">() = {Dispatcher::alltoall};
  search.pin<"etp">() = 1;
  search.recompute_sets = {{}, {.modules = {}, .full = true, .layers = 0, .unit = 1}};
  if (read.keyed->target() == interop::Target::deepspeed) {
    search.pin<"pp">() = 1;
    search.pin<"cp">() = 1;
    search.recompute_sets = {{}};
  }
}

void search_rest(const ImproveOptions& o, const Job& read, Clock::time_point begin,
                 const std::function<void(const SearchProgress&)>& show, ImprovedJob& job) {
  const double left = o.seconds - seconds_since(begin);
  if (left < 0.2) return;
  PlanRequest request;
  request.search.gpus = job.target.gpus;
  request.search.runtime = job.target.runtime;
  request.search.top = 1;
  request.search.numerics = {numerics_of(job.plan)};
  request.search.time_limit = (1 - kShareOfEnd) * left;
  request.search.threads = o.threads;
  pin_framework(read, request.search);
  const double end = o.seconds - kShareOfEnd * left;
  request.search.progress = [&](const SearchProgress& p) {
    if (show) show(p);
    return seconds_since(begin) < end;
  };
  SearchResult found;
  try {
    found = plan(job.target, request).result;
  } catch (const ConfigError&) {
    return;  // no plan of these formats
  }
  job.searched_all = found.optimal;
  if (found.best.empty()) return;
  const StepEstimate& now = job.steps.empty() ? job.estimate : job.steps.back().estimate;
  const auto runs = [&](const Candidate& c) {
    return !read.keyed || read.keyed->can_say(document_of(job, c.plan));
  };
  const auto first = std::find_if(found.best.begin(), found.best.end(), runs);
  if (first == found.best.end()) return;
  const Candidate& best = *first;
  const bool faster = best.estimate.step.base() < (1 - kLeastGain) * now.step.base();
  if (best.estimate.fits && (faster || !now.fits))
    job.best =
        improvement(job, "what a search found", job.plan, job.estimate, best.plan, best.estimate);
  if (job.best && read.keyed) job.best->flags = read.keyed->in_keys(job.best->flags);
}

// The patched file is read again: what it does not say is said.
void make_patch(const ImproveOptions& o, const Job& read, ImprovedJob& job) {
  if (read.texts.empty() || job.steps.empty()) return;
  if (read.keyed) {
    const PlanDocument wanted = document_of(job, job.steps.back().plan);
    const std::string& before = read.texts.front().text;
    const std::string after = read.keyed->file_for(wanted);
    job.patch = unified_diff(before, after, read.texts.front().name);
    try {
      const Plan got = read.keyed->read_again(after).run.document.plan;
      for (const FlagChange& c : flag_changes(document_of(job, got), wanted, job.words))
        job.unpatched.push_back(to_text(c));
    } catch (const ConfigError& e) {
      job.unpatched.push_back(one_line(e));
    }
    return;
  }
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
                        const std::function<void(const ImprovedJob&)>& early,
                        const std::function<void(const SearchProgress&)>& show) {
  ImprovedJob job;
  const Job read = read_job(o, job);
  const Clock::time_point begin = Clock::now();  // a recipe is run at its own time
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
  if (job.words != interop::Target::megatron) {
  } else if (const char* const rule =
                 refused_by(t.runtime, t.model, t.workload, job.plan, t.cluster.gpu))
    job.refusal = why_refused(rule);
  const Estimator price(t.model, t.workload, t.cluster, t.profile, t.runtime);
  job.estimate = price(job.plan);
  change_one_by_one(o, price, read, begin, job);
  if (!job.steps.empty())
    job.flags = flag_changes(document_of(job, job.plan), document_of(job, job.steps.back().plan),
                             job.words);
  if (read.keyed) {
    for (Improvement& i : job.steps) i.flags = read.keyed->in_keys(i.flags);
    job.flags = read.keyed->in_keys(job.flags);
  }
  make_patch(o, read, job);
  job.seconds = seconds_since(begin);
  if (early) early(job);
  search_rest(o, read, begin, show, job);
  job.seconds = seconds_since(begin);
  return job;
}

}  // namespace pleat
