// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/step_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/report/cost_words.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/plan_report.hpp"
#include "console/tables.hpp"
#include "planner/capacity/amounts.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat::cli {
namespace {

constexpr double kDaySeconds = 86400, kTrillion = 1e12;
constexpr std::size_t kLimitsNamed = 4;

double tokens_of_step(const WorkloadSpec& w) {
  return static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len);
}

double days(Seconds t) { return t.base() / kDaySeconds; }

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

// One unit for the whole column of a table.
struct Unit {
  const char* name;
  double size;
};

Unit time_unit(Seconds largest) {
  if (largest >= Seconds(10)) return {"s", 1};
  return largest >= Seconds(1e-2) ? Unit{"ms", 1e-3} : Unit{"us", 1e-6};
}

Unit byte_unit(std::int64_t largest) {
  constexpr double kKiB = 1024;
  if (static_cast<double>(largest) >= kKiB * kKiB * kKiB) return {"GiB", kKiB * kKiB * kKiB};
  return static_cast<double>(largest) >= kKiB * kKiB ? Unit{"MiB", kKiB * kKiB} : Unit{"KiB", kKiB};
}

Fact memory_fact(const StepEstimate& e, const ClusterSpec& cluster) {
  const auto there = static_cast<std::int64_t>(cluster.gpu.memory.base());
  const std::int64_t left = there - e.peak_bytes();
  const double share = static_cast<double>(left) / static_cast<double>(there);
  Fact fact{"memory", {}};
  if (!e.fits) fact.fields.emplace_back("does not fit");
  fact.fields.push_back(
      fmt::format("{} of {} a GPU", format_bytes(e.peak_bytes()), format_bytes(there)));
  fact.fields.push_back(left < 0 ? fmt::format("{} too much", format_bytes(-left))
                                 : fmt::format("{} ({}) free", format_bytes(left), percent(share)));
  fact.fields.push_back(fmt::format("{} of it in tensors", format_bytes(e.peak_allocated_bytes())));
  return fact;
}

Fact host_fact(const StepEstimate& e, const ClusterSpec& cluster) {
  Fact fact{"host memory", {}};
  if (e.host_bytes <= 0) return fact;
  const auto there = static_cast<std::int64_t>(cluster.host_memory.base());
  if (there > 0 && e.host_bytes > there) fact.fields.emplace_back("does not fit");
  fact.fields.push_back(
      there > 0 ? fmt::format("{} of {} a node", format_bytes(e.host_bytes), format_bytes(there))
                : fmt::format("{} a node", format_bytes(e.host_bytes)));
  return fact;
}

Fact limits_fact(const StepEstimate& e) {
  Fact fact{"limited by", {}};
  for (const Bound& b : bounds_of(e)) {
    if (fact.fields.size() == kLimitsNamed) break;
    fact.fields.push_back(fmt::format("{} {}", short_words_for(b.cls), percent(b.share)));
  }
  return fact;
}

Fact training_fact(const TrainingTime& t) {
  Fact fact{"training", {}};
  fact.fields.push_back(
      fmt::format("{:.1f} days for {} tokens", days(t.time), amount_text(t.tokens)));
  fact.fields.push_back(fmt::format("{:.1f} to {:.1f} by the band", days(t.low), days(t.high)));
  fact.fields.push_back(format_count(static_cast<std::int64_t>(t.steps)) + " steps");
  fact.fields.emplace_back("before failures and saves (see `pleat capacity`)");
  return fact;
}

// Of experts that are not loaded alike.
Fact experts_fact(const BusiestRanks& ranks, const WorkloadSpec& w) {
  Fact fact{"experts", {fmt::format("busiest rank {:.3f} times the mean tokens", ranks.mean)}};
  constexpr double kShown = 1e-3;  // a difference that three digits tell
  if (ranks.most > ranks.mean + kShown) {
    fact.fields.push_back(fmt::format("up to {:.3f} (layer {})", ranks.most, ranks.layer));
  }
  fact.fields.emplace_back(!w.expert_loads.empty() ? "from the loads given"
                           : w.expert_spread > 0   ? "from the spread of loads"
                                                   : "as given");
  return fact;
}

Table parts_table(const StepEstimate& e) {
  const Unit unit = time_unit(e.step);
  Table table{{{"part", Align::left}, {unit.name}, {"share"}, {"what", Align::left}}, {}};
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    if (std::abs(e.parts[i].base()) <= 1e-12 * e.step.base()) continue;
    const auto cls = static_cast<CostClass>(i);
    table.rows.push_back({name_of(cls), fmt::format("{:.3f}", e.parts[i].base() / unit.size),
                          percent(e.parts[i] / e.step), words_for(cls)});
  }
  table.rows.push_back(
      {"step", fmt::format("{:.3f}", e.step.base() / unit.size), percent(1), "all of them"});
  return table;
}

Table stages_table(const StepEstimate& e) {
  const Unit time = time_unit(e.step);
  const Unit bytes = byte_unit(e.peak_bytes());
  Table table{{{"stage"},
               {fmt::format("busy {}", time.name)},
               {"bubble"},
               {fmt::format("peak {}", bytes.name)},
               {"weights"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"runtime"}},
              {}};
  const auto size = [&](std::int64_t b) {
    return fmt::format("{:.2f}", static_cast<double>(b) / bytes.size);
  };
  for (std::size_t s = 0; s < e.memory.size(); ++s) {
    const StageMemory& m = e.memory[s];
    table.rows.push_back({std::to_string(m.stage.value),
                          fmt::format("{:.3f}", e.stages[s].busy.base() / time.size),
                          fmt::format("{:.3f}", e.stages[s].bubble.base() / time.size),
                          size(m.peak), size(m.weights), size(m.gradients), size(m.optimizer),
                          size(m.activations), size(m.runtime)});
  }
  return table;
}

int busiest_stage(const StepEstimate& e) {
  const auto busiest = std::ranges::max_element(e.stages, {}, &StageTime::busy);
  return busiest == e.stages.end() ? 0 : busiest->stage.value;
}

}  // namespace

TrainingTime training_time(const StepEstimate& e, const WorkloadSpec& w, double tokens) {
  const double steps = std::ceil(tokens / tokens_of_step(w));
  return {tokens, steps, e.step * steps, e.low * steps, e.high * steps};
}

JsonValue training_json(const TrainingTime& t) {
  return JsonValue::object()
      .set("tokens", t.tokens)
      .set("steps", t.steps)
      .set("days", JsonValue::finite(days(t.time)))
      .set("days_low", JsonValue::finite(days(t.low)))
      .set("days_high", JsonValue::finite(days(t.high)));
}

std::vector<std::string> mfu_fields(const StepEstimate& e) {
  if (!has_narrow_mfu(e)) return {percent(e.mfu)};
  return {fmt::format("{} of the {} peak", percent(e.mfu_of_precision), name_of(e.products)),
          percent(e.mfu) + " of bf16's"};
}

std::vector<Fact> step_facts(const StepEstimate& e, const Problem& problem, Runtime runtime,
                             std::optional<double> tokens, const Terminal& t) {
  std::vector<Fact> facts;
  facts.push_back({"step time",
                   {format_seconds(e.step),
                    fmt::format("between {} and {} ({}{:.0f}%)", format_seconds(e.low),
                                format_seconds(e.high), t.plus_minus(), 100 * e.relative_band)}});
  const double ranks = e.tokens_per_second / e.tokens_per_second_per_gpu;
  const int gpus = static_cast<int>(std::lround(ranks));
  if (const double times = beyond_runs(gpus, problem.profile);
      times > 1 && problem.profile.band_terms.doubling > 0) {
    facts.back().fields.push_back(
        fmt::format("wider for {:.1f} times the GPUs of any run behind the profile", times));
  }
  if (tokens) facts.push_back(training_fact(training_time(e, problem.workload, *tokens)));
  Fact throughput{"throughput",
                  {format_count(std::llround(e.tokens_per_second)) + " tokens/s",
                   fmt::format("{:.1f} a GPU", e.tokens_per_second_per_gpu)}};
  if (!tokens) {
    const TrainingTime trillion = training_time(e, problem.workload, kTrillion);
    throughput.fields.push_back(
        fmt::format("{} days for 1T tokens", three_digits(days(trillion.time))));
  }
  facts.push_back(std::move(throughput));
  facts.push_back({"MFU", mfu_fields(e)});
  facts.back().fields.push_back(
      fmt::format("{:.4g} model TFLOP/s a GPU", e.model_flops_per_gpu.base() / 1e12));
  facts.push_back(memory_fact(e, problem.cluster));
  facts.push_back(host_fact(e, problem.cluster));
  facts.push_back(limits_fact(e));
  facts.push_back({"profile",
                   {fmt::format("{} ({})", problem.profile.name, runtime_name(runtime)),
                    fmt::format("constants {} at worst", source_name(e.source))}});
  if (!problem.model.left_out.empty()) {
    facts.insert(facts.end() - 1, {"left out", problem.model.left_out, "; "});
  }
  if (const std::string& other = problem.profile.borrowed_from; !other.empty()) {
    facts.back().fields.push_back(fmt::format("measured on {}, which has the same GPU", other));
  }
  if (const Shared<Learned>& learned = problem.profile.learned) {
    const std::size_t runs = learned->runs.size();
    facts.back().fields.push_back(fmt::format("learned from {} {} of {}", runs,
                                              runs == 1 ? "run" : "runs", problem.profile.cluster));
  }
  return facts;
}

std::vector<std::string> job_fields(const Problem& problem, int gpus) {
  return {fmt::format("{} on {} x {}", problem.model.name, gpus, problem.cluster.name),
          fmt::format("{} sequences of {} tokens a step", problem.workload.global_batch,
                      problem.workload.seq_len)};
}

std::string step_text(const StepEstimate& e, const Request& r, std::optional<double> tokens,
                      const Terminal& t) {
  const std::vector<std::string> job = job_fields(r.target, r.plan.world());
  std::vector<Fact> facts = step_facts(e, r.target, r.target.runtime, tokens, t);
  if (const auto ranks = busiest_ranks(r.target.model, r.target.workload, r.plan)) {
    facts.push_back(experts_fact(*ranks, r.target.workload));
  }
  std::string text = wrap_fields(job, ", ", t.columns, {"", "    "}) + "\n";
  text += facts_text(facts, t.columns) + "\n";
  const std::vector<Fact> of_plan = plan_facts(r.plan, r.target.model, r.target.workload);
  text += "plan\n" + facts_text(of_plan, t.columns, "  ") + "\n";
  text += fmt::format("where the step goes (stage {}, the busiest)\n", busiest_stage(e)) +
          to_text(parts_table(e), t.columns) + "\n";
  text += "stages\n" + to_text(stages_table(e), t.columns);
  return text;
}

std::string assumed_lines(const std::vector<std::string>& assumed, const Terminal& t) {
  if (assumed.empty()) return {};
  return wrap_fields(assumed, ", ", t.columns, {"assumed: ", "         "});
}

}  // namespace pleat::cli
