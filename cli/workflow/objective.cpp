// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/objective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/tables.hpp"
#include "core/diagnostics.hpp"
#include "planner/front.hpp"
#include "planner/layout_polish.hpp"
#include "planner/sizes_search.hpp"

namespace pleat::cli {
namespace {

constexpr double kTokens = 1e12;  // what GPU-hours and days are given for

// To train kTokens without failures and checkpoints.
double hours(const StepEstimate& e, const WorkloadSpec& w) {
  const double tokens = static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len);
  return kTokens / tokens * e.step.base() / 3600;
}

std::string milliseconds(Seconds s) { return fmt::format("{:.2f}", s.base() * 1e3); }

std::string sizes_text(const std::vector<SizeResult>& sizes, const WorkloadSpec& w) {
  Table table{{{"GPUs"},
               {"step ms"},
               {"tokens/s/GPU"},
               {"days/1T tokens"},
               {"GPU-hours/1T tokens"},
               {"plan", Align::left}},
              {}};
  for (const SizeResult& s : sizes) {
    if (s.result.best.empty()) {
      table.rows.push_back({std::to_string(s.gpus), "-", "-", "-", "-", s.problem});
      continue;
    }
    const Candidate& best = s.result.best.front();
    const double h = hours(best.estimate, w);
    table.rows.push_back({std::to_string(s.gpus), milliseconds(best.estimate.step),
                          fmt::format("{:.1f}", best.estimate.tokens_per_second_per_gpu),
                          fmt::format("{:.1f}", h / 24), fmt::format("{:.0f}", h * s.gpus),
                          summary(best.plan)});
  }
  return "by size (without failures and checkpoints, which `pleat capacity` counts):\n" +
         to_text(table);
}

JsonValue sizes_json(const std::vector<SizeResult>& sizes, const WorkloadSpec& w) {
  JsonValue list = JsonValue::array();
  for (const SizeResult& s : sizes) {
    JsonValue one = JsonValue::object();
    one.set("gpus", s.gpus);
    if (s.result.best.empty()) {
      one.set("problem", s.problem);
    } else {
      const Candidate& best = s.result.best.front();
      one.set("plan", summary(best.plan))
          .set("step_s", best.estimate.step.base())
          .set("gpu_hours_per_1t_tokens", hours(best.estimate, w) * s.gpus);
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string front_text(const Front& front, double slack) {
  Table table{{{"step ms"}, {"slower"}, {"peak GiB"}, {"plan", Align::left}}, {}};
  for (const Candidate& c : front.plans) {
    const double slower = c.estimate.step / front.plans.front().estimate.step - 1;
    table.rows.push_back({milliseconds(c.estimate.step), fmt::format("{:.1f}%", 100 * slower),
                          fmt::format("{:.2f}", static_cast<double>(c.estimate.peak_bytes()) /
                                                    (1024.0 * 1024 * 1024)),
                          summary(c.plan)});
  }
  return fmt::format("step time against memory, up to {:g}% slower{} ({} priced in all, {:.2f} s):\n",
                     100 * slack, front.optimal ? "" : ", cut short", front.priced, front.seconds) +
         to_text(table);
}

JsonValue front_json(const Front& front) {
  JsonValue list = JsonValue::array();
  for (const Candidate& c : front.plans) {
    list.push_back(JsonValue::object()
                       .set("plan", summary(c.plan))
                       .set("step_s", c.estimate.step.base())
                       .set("peak_bytes", c.estimate.peak_bytes()));
  }
  return list;
}

void choose_size(const ObjectiveOptions& o, Target& t, SearchConfig& config, ObjectiveResult& r) {
  if (o.min_gpus > config.gpus) {
    throw_config_error(ExitCode::bad_request, "--min-gpus", "",
                       fmt::format("{} is more than the {} GPUs of the job", o.min_gpus, config.gpus),
                       "sizes are tried from --gpus downwards");
  }
  const int smallest = o.min_gpus > 0 ? o.min_gpus : config.gpus / 16;
  std::vector<SizeResult> sizes =
      search_sizes(t.model, t.cluster, t.workload, t.profile, config, smallest);
  const SizeResult* best = o.objective == "cost" ? cheapest_size(sizes, config.robust)
                                                 : fastest_size(sizes, config.robust);
  r.text = sizes_text(sizes, t.workload);
  r.sizes = sizes_json(sizes, t.workload);
  if (best == nullptr) best = &sizes.front();
  t.gpus = config.gpus = best->gpus;
  r.result = best->result;
}

// A plan is listed that this search had counted: not reached, or folded into another one.
void uncount_one(std::map<std::string, std::int64_t>& rejected) {
  for (const char* rule : {"not-reached", "near", "variant", "slower", "time-bound", "needless"}) {
    const auto at = rejected.find(rule);
    if (at == rejected.end() || at->second == 0) continue;
    --at->second;
    return;
  }
}

// `result`: of the fastest plan, before. The plans with no more memory than the last of the front;
// of a front cut short the last one alone, which is no proof.
void choose_headroom(const ObjectiveOptions& o, const Target& t, const Front& front,
                     SearchConfig& config, SearchResult& result) {
  const Candidate& least = front.plans.back();
  const Seconds fastest = value_of(front.plans.front().estimate, config.robust);
  config.most_bytes = least.estimate.peak_bytes();
  if (!front.optimal) {
    result.optimal = false;
    result.bound = std::min(result.bound, fastest);
    result.best = {least};
    result.most_bytes = config.most_bytes;
    return;
  }
  SearchConfig c = rest_of_limits(config, front.seconds, front.priced);
  c.not_above = fastest * (1 + o.slack);
  SearchResult found = search(t.model, t.cluster, t.workload, t.profile, c);
  if (!found.optimal) {  // the front has proven the first one, whatever is found beside it
    const auto same = [&](const Candidate& c) { return c.plan == least.plan; };
    if (std::erase_if(found.best, same) == 0) uncount_one(found.rejected);
    found.best.insert(found.best.begin(), least);
    found.bound = value_of(least.estimate, config.robust);
  }
  result = std::move(found);
}

// `r`: of the shortest step on all GPUs.
void hint_at_fewer(const Target& t, const SearchConfig& config, ObjectiveResult& r) {
  if (r.result.best.empty() || !r.result.optimal) return;
  const Seconds own = value_of(r.result.best.front().estimate, config.robust);
  const auto fewer =
      faster_on_fewer(t.model, t.cluster, t.workload, t.profile,
                      rest_of_limits(config, std::max(r.front_seconds, r.result.seconds),
                                     std::max(r.front_priced, r.result.priced)),
                      own);
  if (!fewer) return;
  const Candidate& best = fewer->result.best.front();
  const Seconds value = value_of(best.estimate, config.robust);
  r.hint = fmt::format(
      "hint: {} GPUs would be {:.1f}% faster, {} ms a step; {} sequences do not divide over {} "
      "(--objective time-to-train compares sizes)\n",
      fewer->gpus, 100 * (own / value - 1), milliseconds(best.estimate.step),
      t.workload.global_batch, config.gpus);
  r.hint_facts = JsonValue::object()
                     .set("gpus", fewer->gpus)
                     .set("step_s", best.estimate.step.base())
                     .set("plan", summary(best.plan));
}

}  // namespace

ObjectiveResult search_objective(const ObjectiveOptions& o, Target& t, SearchConfig& config) {
  ObjectiveResult r;
  const bool headroom = o.objective == "memory-headroom";
  if (o.objective == "cost" || o.objective == "time-to-train") {
    choose_size(o, t, config, r);
  } else {
    SearchConfig first = config;
    if (headroom) first.top = 1;
    r.result = search(t.model, t.cluster, t.workload, t.profile, first);
  }
  if ((headroom || o.pareto) && !r.result.best.empty()) {
    const Front front =
        pareto_front(t.model, t.cluster, t.workload, t.profile, config, o.slack, r.result);
    r.text += (r.text.empty() ? "" : "\n") + front_text(front, o.slack);
    r.front = front_json(front);
    r.front_optimal = front.optimal;
    r.front_priced = front.priced;
    r.front_seconds = front.seconds;
    if (headroom) choose_headroom(o, t, front, config, r.result);
  }
  polish_layouts(t.model, t.cluster, t.workload, t.profile, config, r.result);
  if (o.objective == "throughput") hint_at_fewer(t, config, r);
  return r;
}

}  // namespace pleat::cli
