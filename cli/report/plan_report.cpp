// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "console/tables.hpp"
#include "core/plan/plan_parts.hpp"

namespace pleat::cli {
namespace {

struct TopicName {
  PlanTopic topic;
  const char* name;
};
constexpr std::array kTopics{
    TopicName{PlanTopic::parallel, "parallel"}, TopicName{PlanTopic::experts, "experts"},
    TopicName{PlanTopic::batch, "batch"},       TopicName{PlanTopic::formats, "formats"},
    TopicName{PlanTopic::exchange, "exchange"}, TopicName{PlanTopic::memory, "memory"},
    TopicName{PlanTopic::run, "run"},           TopicName{PlanTopic::layout, "layout"}};

// Degrees are told of every plan.
bool is_degree(const PlanPart& part) {
  return part.topic == PlanTopic::parallel || part.topic == PlanTopic::experts ||
         part.topic == PlanTopic::batch;
}

bool is_of_experts(const PlanPart& part, const Plan& plan) {
  return part.topic == PlanTopic::experts || part.text == name_of(plan.dispatcher);
}

// What a word alone would not say.
std::string field_of(const PlanPart& part) {
  if (part.topic == PlanTopic::memory && part.text == name_of(Sharding::none)) return "no sharding";
  if (part.topic == PlanTopic::layout) return part.text.substr(part.text.find('=') + 1);
  return part.text;
}

}  // namespace

std::vector<Fact> plan_facts(const Plan& plan, const ModelSpec& model,
                             const WorkloadSpec& workload) {
  std::vector<PlanPart> parts = plan_parts(plan);
  if (!model.moe) std::erase_if(parts, [&](const PlanPart& p) { return is_of_experts(p, plan); });
  std::vector<Fact> facts;
  for (const TopicName& t : kTopics) {
    Fact fact{t.name, {}, " "};
    for (const PlanPart& part : parts) {
      if (part.topic == t.topic) fact.fields.push_back(field_of(part));
    }
    if (t.topic == PlanTopic::batch) {
      const std::int64_t count = plan.microbatches(workload.global_batch);
      fact.fields.push_back(fmt::format("({} {} a step)", format_count(count),
                                        count == 1 ? "microbatch" : "microbatches"));
    }
    if (!fact.fields.empty()) facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<std::string> words_of_experts(const Plan& plan, const ModelSpec& model) {
  std::vector<std::string> words;
  if (model.moe) return words;
  for (const PlanPart& part : plan_parts(plan)) {
    if (is_of_experts(part, plan)) words.push_back(part.text);
  }
  words.emplace_back("|");
  return words;
}

std::vector<std::string> common_words(const std::vector<const Plan*>& plans) {
  std::vector<std::string> common;
  if (plans.size() < 2) return common;
  for (const PlanPart& part : plan_parts(*plans.front())) {
    const bool everywhere = std::ranges::all_of(plans, [&](const Plan* plan) {
      const std::vector<PlanPart> parts = plan_parts(*plan);
      return std::ranges::find(parts, part) != parts.end();
    });
    if (everywhere && !is_degree(part)) common.push_back(part.text);
  }
  return common;
}

std::string with_common_words(const std::string& title, const std::vector<std::string>& words,
                              std::size_t columns) {
  const std::string all =
      words.empty() ? title : fmt::format("{}; all of them {}", title, fmt::join(words, " "));
  return wrap_words(all, columns, {"", "    "});
}

std::string summary_without(const Plan& plan, const std::vector<std::string>& words) {
  std::vector<std::string> left;
  std::istringstream in(summary(plan));
  for (std::string word; in >> word;) {
    if (std::ranges::find(words, word) == words.end()) left.push_back(word);
  }
  return fmt::format("{}", fmt::join(left, " "));
}

}  // namespace pleat::cli
