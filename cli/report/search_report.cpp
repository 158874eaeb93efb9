// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/search_report.hpp"

#include <fmt/format.h>

#include "cli/report/alternatives_report.hpp"
#include "cli/report/cost_words.hpp"
#include "cli/report/counter_words.hpp"
#include "cli/report/plan_report.hpp"
#include "cli/report/step_report.hpp"
#include "console/tables.hpp"
#include "core/plan/predicted_only.hpp"
#include "core/quantity.hpp"
#include "planner/report/explain.hpp"
#include "planner/space/not_tried.hpp"

namespace pleat::cli {
namespace {

std::string gib(double bytes) { return fmt::format("{:.2f}", bytes / kGiB); }

std::string difference(const Candidate& winner, const Candidate& loser) {
  return explain_difference(winner, loser, short_words_for);
}

std::string head_text(const Target& t, const SearchConfig& config, const Terminal& terminal) {
  std::vector<std::string> fields = job_fields(t, config.gpus);
  fields.push_back(precisions_text(config));
  return wrap_fields(fields, ", ", terminal.columns, {"", "    "});
}

// What to type next.
std::vector<Fact> next_facts(const Target& t, const Plan& plan, const std::string& plan_file) {
  const std::string file = plan_file.empty() ? "plan.json" : plan_file;
  std::vector<Fact> facts;
  if (plan_file.empty()) facts.push_back({"", {"add --out plan.json, then"}});
  switch (t.runtime) {
    case Runtime::pleat:
      facts.push_back({"", {fmt::format("pleat train --plan {}", file)}});
      for (const PredictedOnly& technique : predicted_only(plan)) {
        facts.push_back({"", {fmt::format("there {}: the same results, but not yet the time that "
                                          "is predicted here",
                                          technique.what)}});
      }
      break;
    case Runtime::megatron:
      facts.push_back({"", {fmt::format("pleat export --to megatron {} -o train.sh", file)}});
      facts.push_back({"", {fmt::format("pleat launch --to slurm {} -o job.sh", file)}});
      break;
  }
  facts.front().name = "to run it";
  return facts;
}

// The fastest recipe that fits and is faster than the best plan; mostly of other number formats.
const Recipe* faster_recipe(const std::vector<Recipe>& recipes, const Candidate& best) {
  const Recipe* fastest = nullptr;
  for (const Recipe& r : recipes) {
    const StepEstimate& e = r.candidate.estimate;
    const Seconds limit =
        fastest == nullptr ? best.estimate.step : fastest->candidate.estimate.step;
    if (e.fits && e.step < limit) fastest = &r;
  }
  return fastest;
}

std::string answer_text(const PlanAnswer& answer, const Target& t, const SearchReport& report,
                        const Terminal& terminal) {
  const SearchResult& result = answer.result;
  const Candidate& best = result.best.front();
  std::vector<Fact> facts = step_facts(best.estimate, t, t.runtime, report.tokens, terminal);
  if (result.best.size() > 1) {
    facts.push_back({all_certain(result) ? "next best" : "also good",
                     {"#2 is " + difference(best, result.best[1])}});
  }
  if (answer.faster_on_fewer) facts.push_back({"fewer GPUs", {hint_text(answer, t)}});
  if (const Recipe* recipe = faster_recipe(report.recipes, best)) {
    facts.push_back({"beside it",
                     {fmt::format("{} would be {:.1f}% faster{}", recipe->name,
                                  100 * (1 - recipe->candidate.estimate.step / best.estimate.step),
                                  recipe->numerics.empty() ? "" : ", with other numerics")}});
  }
  const double layout_gap = layout_gap_of(result, t, answer.search);
  facts.push_back({"certainty", {certificate(result, layout_gap)}});
  if (result.optimal && !all_certain(result)) {
    facts.push_back({"",
                     {fmt::format("plans that are better than #2 may be missing from the list; "
                                  "--certain {} proves that none is",
                                  result.best.size())}});
  }
  if (const std::string beside = neighbours_text(result); !beside.empty()) {
    facts.push_back({"", {beside}});
  }
  if (const std::string layouts = layout_certificate(result, layout_gap); !layouts.empty()) {
    facts.push_back({"", {layouts}});
  }
  for (const AtEdge& edge : at_edges(best.plan, t, answer.search)) {
    facts.push_back({"", {edge.text}});
  }
  for (Fact& fact : next_facts(t, best.plan, report.plan_file)) facts.push_back(std::move(fact));
  return facts_text(facts, terminal.columns);
}

std::string plans_text(const SearchResult& result, const Target& t, const Terminal& terminal) {
  std::vector<const Plan*> plans;
  for (const Candidate& c : result.best) plans.push_back(&c.plan);
  std::vector<std::string> common = common_words(plans);
  const auto without_common = [&](const Plan& plan) {
    std::vector<std::string> words = words_of_experts(plan, t.model);
    words.insert(words.end(), common.begin(), common.end());
    return summary_without(plan, words);
  };
  Table table{{{"#"},
               {"step ms"},
               {"slower"},
               {"tokens/s/GPU"},
               {"MFU"},
               {"bf16 MFU"},
               {"peak GiB"},
               {"free GiB"},
               {"plan", Align::left}},
              {}};
  const Candidate& best = result.best.front();
  for (const Candidate& c : result.best) {
    const StepEstimate& e = c.estimate;
    const auto peak = static_cast<double>(e.peak_bytes());
    table.rows.push_back(
        {std::to_string(table.rows.size() + 1), fmt::format("{:.2f}", e.step.base() * 1e3),
         &c == &best ? "" : fmt::format("{:.1f}%", 100 * (e.step / best.estimate.step - 1)),
         fmt::format("{:.1f}", e.tokens_per_second_per_gpu),
         fmt::format("{:.1f}%", 100 * e.mfu_of_precision), fmt::format("{:.1f}%", 100 * e.mfu),
         gib(peak), gib(t.cluster.gpu.memory.base() - peak), without_common(c.plan)});
  }
  const auto narrow = [](const Candidate& c) { return has_narrow_mfu(c.estimate); };
  if (std::ranges::none_of(result.best, narrow))
    table = without_column(std::move(table), "bf16 MFU");
  std::string title = "the best plan";
  if (plans.size() > 1) {
    title = !result.optimal || all_certain(result)
                ? fmt::format("the {} best plans", plans.size())
                : fmt::format("the best plan and {} other good ones", plans.size() - 1);
  }
  for (const std::string& word : words_of_experts(best.plan, t.model)) std::erase(common, word);
  return with_common_words(title, common, terminal.columns) + to_text(table, terminal.columns);
}

}  // namespace

std::string search_text(const PlanAnswer& answer, const Target& t, const SearchReport& report,
                        const Terminal& terminal) {
  const SearchResult& result = answer.result;
  std::string text = head_text(t, answer.search, terminal) + "\n";
  if (result.best.empty()) {
    return text + wrap_words(certificate(result), terminal.columns) +
           search_details(result, terminal);
  }
  text += answer_text(answer, t, report, terminal);
  const std::vector<Fact> facts = plan_facts(result.best.front().plan, t.model, t.workload);
  text += "\nplan\n" + facts_text(facts, terminal.columns, "  ");
  text += "\n" + plans_text(result, t, terminal);
  return text;
}

std::string more_text(const SearchResult& result, const Terminal& terminal) {
  std::vector<std::string> more{"why #1 takes as long", "what would change the answer",
                                "what became of all plans"};
  if (!result.not_tried.empty()) {
    more.push_back(fmt::format("{} things that were not tried", result.not_tried.size()));
  }
  return wrap_fields(more, ", ", terminal.columns, {"more with --explain: ", "    "});
}

std::string search_details(const SearchResult& result, const Terminal& terminal) {
  std::string text;
  for (std::size_t i = 1; i < result.best.size(); ++i) {
    if (i == 1) text += "\nagainst #1\n";
    text += wrap_words(difference(result.best.front(), result.best[i]), terminal.columns,
                       {fmt::format("{:>3}  ", i + 1), "       "});
  }
  text += "\nwhat became of all plans\n" + counters_text(result, terminal);
  if (!result.not_tried.empty()) text += "\nnot tried\n" + not_tried_text(result, terminal);
  return text;
}

}  // namespace pleat::cli
