// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

constexpr std::size_t kLogBytes = std::size_t{1} << 30;
constexpr double kSlowStep = 1.5;     // times the median
constexpr double kNoTrend = 0.02;     // what two medians differ by without being worth a word
constexpr double kRanksDiffer = 0.1;  // a timer's slowest rank over its fastest

void add_plan(const interop::RunLog& log, const WatchOptions& o, WatchReport& r) {
  const PlanDocument d = read_plan_document(read_text_file(o.plan), o.plan);
  require_same_run(log, d, o.log, o.plan);
  r.predicted = price_document(d, d.cluster, o.profile, o.plan);
  if (!o.tokens) return;
  const double a_step = static_cast<double>(d.workload.global_batch * d.workload.seq_len);
  r.planned_steps = static_cast<std::int64_t>(std::ceil(*o.tokens / a_step));
}

void add_times(const interop::RunLog& log, const WatchOptions& o, WatchReport& r) {
  const std::size_t all = log.steps.size();
  r.dropped = std::min(static_cast<std::size_t>(o.warmup), all - 1);
  std::vector<double> seconds;
  for (std::size_t i = r.dropped; i < all; ++i) seconds.push_back(log.steps[i].seconds);
  r.used = seconds.size();
  r.median = median(seconds);
  double total = 0, lost = 0;
  for (std::size_t i = r.dropped; i < all; ++i) {
    const double s = log.steps[i].seconds;
    total += s;
    if (s > r.slowest) {
      r.slowest = s;
      r.slowest_step = log.steps[i].number;
    }
    if (s <= kSlowStep * r.median) continue;
    ++r.slow_steps;
    lost += s - r.median;
  }
  r.lost_share = lost / total;
  const auto window =
      static_cast<std::ptrdiff_t>(std::min(seconds.size(), static_cast<std::size_t>(o.window)));
  r.now = median({seconds.end() - window, seconds.end()});
  if (2 * window <= std::ssize(seconds))
    r.first = median({seconds.begin(), seconds.begin() + window});
}

std::string seconds_text(double seconds) { return format_seconds(Seconds(seconds)); }

std::string time_left_text(double seconds) {
  if (seconds < 120) return seconds_text(seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{:.1f} h", seconds / 3600)
                             : fmt::format("{:.1f} days", seconds / 86'400);
}

std::string timers_text(const WatchReport& r, std::size_t columns) {
  Table table{
      {{"timer", Align::left}, {"fastest rank"}, {"slowest rank"}, {"differ"}, {"predicted"}}, {}};
  bool differ = false;
  for (const interop::RunTimer& t : r.timers) {
    const double spread = t.least > 0 ? t.most / t.least - 1 : 0;
    differ = differ || (spread > kRanksDiffer && t.most > 0.05 * r.now);
    const auto predicted = predicted_timer(r, t.name);
    table.rows.push_back({t.name, seconds_text(t.least), seconds_text(t.most),
                          fmt::format("{:.1f}%", 100 * spread),
                          predicted ? seconds_text(*predicted) : "-"});
  }
  std::string text = "\n" + to_text(table, columns);
  if (differ) {
    text +=
        "ranks differ by more than 10% in a timer that matters: stages or experts loaded "
        "unevenly,\nor a slow GPU or link\n";
  }
  return text;
}

const char* verdict_words(WatchReport::Verdict verdict) {
  return verdict == WatchReport::Verdict::within ? "within the band" : "OUTSIDE OF THE BAND";
}

const char* verdict_name(WatchReport::Verdict verdict) {
  switch (verdict) {
    case WatchReport::Verdict::faster:
      return "faster";
    case WatchReport::Verdict::within:
      return "within";
    case WatchReport::Verdict::slower:
      return "slower";
    case WatchReport::Verdict::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

void require_same_run(const interop::RunLog& log, const PlanDocument& d,
                      const std::string& log_file, const std::string& plan_file) {
  Diagnostics problems;
  const auto same = [&](const char* name, std::int64_t wanted) {
    const auto found = log.arguments.find(name);
    if (found == log.arguments.end() || found->second.empty()) return;
    const std::string& said = found->second.front();
    if (said == std::to_string(wanted) || said == "None") return;
    problems.error(ExitCode::verification, log_file, name,
                   fmt::format("is {} in the log, {} in {}", said, wanted, plan_file),
                   "the plan that this run was started with");
  };
  const Plan& p = d.plan;
  same("world_size", d.gpus);
  same("seq_length", d.workload.seq_len);
  same("global_batch_size", d.workload.global_batch);
  same("micro_batch_size", p.micro_batch);
  same("tensor_model_parallel_size", p.attention.tp);
  same("context_parallel_size", p.attention.cp);
  same("pipeline_model_parallel_size", p.attention.pp);
  if (d.model.moe) same("expert_model_parallel_size", p.expert.ep);
  same("num_layers", d.model.layers);
  same("hidden_size", d.model.hidden);
  problems.throw_if_errors();
}

std::optional<double> predicted_timer(const WatchReport& r, const std::string& name) {
  if (!r.predicted) return std::nullopt;
  const StepEstimate& e = r.predicted->estimate;
  const double optimizer = e.parts[static_cast<std::size_t>(CostClass::optimizer)].base();
  if (name == "optimizer") return optimizer;
  if (name == "forward-backward") return e.step.base() - optimizer;
  return std::nullopt;
}

WatchReport::Verdict WatchReport::verdict() const {
  if (!predicted) return Verdict::unknown;
  if (now > predicted->estimate.high.base()) return Verdict::slower;
  return now < predicted->estimate.low.base() ? Verdict::faster : Verdict::within;
}

double WatchReport::seconds_left() const {
  if (planned_steps <= step) return 0;
  return static_cast<double>(planned_steps - step) * now / (1 - lost_share);
}

WatchReport watch_run(const WatchOptions& o) {
  const interop::RunLog log = interop::read_run_log(read_text_file(o.log, kLogBytes));
  if (log.steps.empty()) {
    throw_config_error(ExitCode::bad_file, o.log, "", "has no finished step yet",
                       "a log of Megatron-LM with --log-interval 1, the output of `pleat train`, "
                       "or its --log-json");
  }
  WatchReport r;
  r.writer = log.writer;
  r.step = log.steps.back().number;
  r.loss = log.steps.back().loss;
  r.planned_steps = o.steps > 0 ? o.steps : log.planned_steps;
  r.timers = log.timers;
  r.steps = log.steps;
  if (!o.plan.empty()) {
    add_plan(log, o, r);
  } else if (o.tokens) {
    throw_config_error(ExitCode::bad_request, "--tokens", "", "needs --plan, which has the batch",
                       "--steps N");
  }
  add_times(log, o, r);
  return r;
}

std::vector<std::pair<std::string, std::string>> watch_facts(const WatchReport& r) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* name, std::string what) {
    facts.emplace_back(name, std::move(what));
  };
  add("step time", fmt::format("{} now, {} over all {} steps ({} more left out as warm-up)",
                               seconds_text(r.now), seconds_text(r.median),
                               format_count(static_cast<std::int64_t>(r.used)), r.dropped));
  if (r.predicted) {
    const StepEstimate& e = r.predicted->estimate;
    const double off = r.now / e.step.base() - 1;
    add("predicted",
        fmt::format("{}, between {} and {}; the run is {:.1f}% {}, {}", seconds_text(e.step.base()),
                    seconds_text(e.low.base()), seconds_text(e.high.base()), 100 * std::abs(off),
                    off > 0 ? "slower" : "faster", verdict_words(r.verdict())));
  }
  if (r.first > 0) {
    const double change = r.now / r.first - 1;
    add("trend", std::abs(change) < kNoTrend
                     ? std::string("as fast as at its beginning")
                     : fmt::format("{:.1f}% {} than at its beginning", 100 * std::abs(change),
                                   change > 0 ? "slower" : "faster"));
  }
  if (r.slow_steps > 0) {
    add("slow steps",
        fmt::format(
            "{} took over 1.5 times the median, {:.1f}% of the time; the slowest {}, step {}",
            r.slow_steps, 100 * r.lost_share, seconds_text(r.slowest), r.slowest_step));
  }
  if (r.is_over()) {
    add("left", "nothing, the run is over");
  } else if (r.planned_steps > 0) {
    add("left", fmt::format("{} steps, {} at this pace", format_count(r.planned_steps - r.step),
                            time_left_text(r.seconds_left())));
  }
  return facts;
}

std::string watch_text(const WatchReport& r, const std::string& log, std::size_t columns) {
  std::string text = fmt::format("{}: step {}", log, format_count(r.step));
  if (r.planned_steps > 0) {
    text += fmt::format(" of {}, {:.1f}%", format_count(r.planned_steps),
                        100 * static_cast<double>(r.step) / static_cast<double>(r.planned_steps));
  }
  if (r.loss) text += fmt::format(", loss {:.4f}", *r.loss);
  text += fmt::format(" ({})\n\n", r.writer);
  for (const auto& [name, what] : watch_facts(r)) text += fmt::format("{:<12} {}\n", name, what);
  if (!r.timers.empty()) text += timers_text(r, columns);
  return text;
}

std::string watch_line(const WatchReport& r) {
  std::string text = fmt::format("step {}", format_count(r.step));
  if (r.planned_steps > 0) text += " of " + format_count(r.planned_steps);
  if (r.loss) text += fmt::format(", loss {:.4f}", *r.loss);
  text += fmt::format(", {} a step", seconds_text(r.now));
  if (r.predicted) {
    const StepEstimate& e = r.predicted->estimate;
    const double tokens = e.tokens_per_second * e.step.base();  // of a step
    text += fmt::format(" (predicted {}), {} tokens/s", seconds_text(e.step.base()),
                        format_count(static_cast<std::int64_t>(tokens / r.now)));
  }
  if (r.planned_steps > r.step) text += ", " + time_left_text(r.seconds_left()) + " left";
  return text + "\n";
}

JsonValue watch_json(const WatchReport& r) {
  JsonValue json = JsonValue::object();
  json.set("schema_version", 1).set("writer", r.writer).set("step", r.step);
  if (r.loss) json.set("loss", JsonValue::finite(*r.loss));
  if (r.planned_steps > 0)
    json.set("planned_steps", r.planned_steps).set("seconds_left", r.seconds_left());
  JsonValue measured = JsonValue::object();
  measured.set("steps", r.used).set("dropped", r.dropped).set("median_seconds", r.median);
  measured.set("now_seconds", r.now).set("slowest_seconds", r.slowest);
  measured.set("slowest_step", r.slowest_step).set("slow_steps", r.slow_steps);
  measured.set("slow_share", r.lost_share);
  if (r.first > 0) measured.set("first_seconds", r.first);
  json.set("measured", std::move(measured));
  if (r.predicted) {
    const StepEstimate& e = r.predicted->estimate;
    json.set("predicted", JsonValue::object()
                              .set("profile", r.predicted->profile)
                              .set("step_seconds", e.step.base())
                              .set("low_seconds", e.low.base())
                              .set("high_seconds", e.high.base())
                              .set("verdict", verdict_name(r.verdict())));
  }
  JsonValue timers = JsonValue::array();
  for (const interop::RunTimer& t : r.timers) {
    JsonValue timer = JsonValue::object();
    timer.set("name", t.name).set("fastest_rank_seconds", t.least);
    timer.set("slowest_rank_seconds", t.most);
    if (const auto predicted = predicted_timer(r, t.name))
      timer.set("predicted_seconds", *predicted);
    timers.push_back(std::move(timer));
  }
  if (!r.timers.empty()) json.set("timers", std::move(timers));
  return json;
}

}  // namespace pleat
