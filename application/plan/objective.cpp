// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/plan/objective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "planner/search/front_polish.hpp"
#include "planner/layout/layout_polish.hpp"
#include "planner/search/sizes_search.hpp"

namespace pleat {
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

std::string front_text(const Front& front, double slack, bool robust) {
  Table table{{{"step ms"}, {"slower"}, {"peak GiB"}, {"plan", Align::left}}, {}};
  for (const Candidate& c : front.plans) {
    const double slower =
        value_of(c.estimate, robust) / value_of(front.plans.front().estimate, robust) - 1;
    table.rows.push_back({milliseconds(c.estimate.step), fmt::format("{:.1f}%", 100 * slower),
                          fmt::format("{:.2f}", static_cast<double>(c.estimate.peak_bytes()) /
                                                    (1024.0 * 1024 * 1024)),
                          summary(c.plan)});
  }
  return fmt::format("step time against memory, up to {:g}% slower{}{} ({} priced in all, {:.2f} s):\n",
                     100 * slack, robust ? " at the band's upper end" : "",
                     front.optimal ? "" : ", cut short", front.priced, front.seconds) +
         to_text(table);
}

JsonValue front_json(const Front& front) {
  JsonValue list = JsonValue::array();
  for (const Candidate& c : front.plans) {
    list.push_back(JsonValue::object()
                       .set("plan", summary(c.plan))
                       .set("step_s", c.estimate.step.base())
                       .set("low_s", c.estimate.low.base())
                       .set("high_s", c.estimate.high.base())
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
  for (SizeResult& s : sizes) {
    SearchConfig own = config;
    own.gpus = s.gpus;
    polish_layouts(t.model, t.cluster, t.workload, t.profile, own, s.result);
  }
  const SizeResult* best = o.objective == "cost" ? cheapest_size(sizes, config.robust)
                                                 : fastest_size(sizes, config.robust);
  r.text = sizes_text(sizes, t.workload);
  r.sizes = sizes_json(sizes, t.workload);
  if (best == nullptr) best = &sizes.front();
  t.gpus = config.gpus = best->gpus;
  r.result = best->result;
  certify_sizes(sizes, o.objective == "cost" ? Objective::gpu_time : Objective::step_of_sizes,
                best->gpus, r.result);
}

double gpu_bytes(const Target& t) { return t.cluster.gpu.memory.base(); }

// `result`: of the fastest plan, before. The plans with no more memory than the last of the front;
// of a front cut short the last one alone, which is no proof.
void choose_headroom(const ObjectiveOptions& o, const Target& t, Front& front,
                     SearchConfig& config, SearchResult& result, KnownPrices& known) {
  const Candidate least = front.plans.back();
  const Seconds fastest = value_of(front.plans.front().estimate, config.robust);
  config.most_bytes = least.estimate.peak_bytes();
  if (!front.optimal) {
    result.optimal = false;
    result.bound = std::min(result.bound, fastest);
    result.best = {least};
    result.best_of_layouts.clear();
    result.most_bytes = config.most_bytes;
    return;
  }
  SearchConfig c = rest_of_limits(config, front.seconds, front.priced);
  c.not_above = fastest * (1 + o.slack);
  SearchResult found = search(t.model, t.cluster, t.workload, t.profile, c, &known);
  polish_layouts(t.model, t.cluster, t.workload, t.profile, c, found);
  // The front has proven that one, whatever is found beside it.
  put_into_list(least, static_cast<std::size_t>(config.top), config.robust, gpu_bytes(t), found);
  if (!found.optimal) found.bound = value_of(found.best.front().estimate, config.robust);
  put_into_front({found.best.front()}, config.robust, gpu_bytes(t), o.slack, front);
  result = std::move(found);
}

// Of the polished list; the two agree.
Front front_of(const ObjectiveOptions& o, const Target& t, const SearchConfig& config,
               SearchResult& result, KnownPrices& known) {
  Front front =
      pareto_front(t.model, t.cluster, t.workload, t.profile, config, o.slack, result, known);
  polish_front(t.model, t.cluster, t.workload, t.profile, config, front);
  put_into_front(result.best, config.robust, gpu_bytes(t), o.slack, front);
  put_into_list(front.plans.front(), result.best.size(), config.robust, gpu_bytes(t), result);
  return front;
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
  KnownPrices known;
  const bool headroom = o.objective == "memory-headroom";
  if (o.objective == "cost" || o.objective == "time-to-train") {
    choose_size(o, t, config, r);
  } else {
    SearchConfig first = config;
    if (headroom) first.top = 1;
    KnownPrices* for_front = headroom || o.pareto ? &known : nullptr;
    r.result = search(t.model, t.cluster, t.workload, t.profile, first, for_front);
    polish_layouts(t.model, t.cluster, t.workload, t.profile, config, r.result);
  }
  if ((headroom || o.pareto) && !r.result.best.empty()) {
    Front front = front_of(o, t, config, r.result, known);
    if (headroom) choose_headroom(o, t, front, config, r.result, known);
    r.text += (r.text.empty() ? "" : "\n") + front_text(front, o.slack, config.robust);
    r.front = front_json(front);
    r.front_optimal = front.optimal;
    r.front_priced = front.priced;
    r.front_seconds = front.seconds;
  }
  if (o.objective == "throughput") hint_at_fewer(t, config, r);
  return r;
}

}  // namespace pleat
