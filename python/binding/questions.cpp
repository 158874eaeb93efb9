// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "python/binding/questions.hpp"

#include <array>

#include "application/request/ineffective_options.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

constexpr int kMostThreads = 1024;
constexpr std::int64_t kMostEvaluations = std::int64_t{1} << 40;

void take_routing(Given& given, RoutingOptions& o) {
  given.take("--routing", o.routing);
  given.take("--imbalance", o.imbalance, 1.0, 1e6);
}

void take_threads(Given& given, int& threads) { given.take("--threads", threads, 0, kMostThreads); }

template <std::size_t I>
void take_pin(Given& given, PinWords& pins) {
  constexpr const auto& field = kPlanField<I>;
  using Value = typename std::remove_cvref_t<decltype(field)>::Value;
  const std::string option = "--" + std::string(field.pin_flag());
  auto& values = std::get<I>(pins.by_row);
  if constexpr (std::is_same_v<Value, int>) {
    given.take(option, values, field.pinned.least, field.pinned.most);
  } else {
    given.take(option, values);
  }
}

void take_pins(Given& given, SearchOptions& o) {
  for_each_pin([&](auto i) { take_pin<i>(given, o.pins); });
  given.take("--hybrid-sharding", o.hybrid_sharding);
  given.take("--paged-stash", o.paged_stash, 0.0, 1e6);
  given.take("--stash-capacity", o.stash_capacity, 0.0, 1e6);
  given.take("--optimizer-offload", o.optimizer_offload);
  given.take("--cpu-optimizer", o.cpu_optimizer);
  given.take("--by-stage", o.by_stage);
  given.take("--recompute", o.recompute);
  given.take("--offload", o.offload);
  given.take("--no-recompute", o.no_recompute);
  given.take("--no-offload", o.no_offload);
}

void take_numerics(Given& given, NumericsWords& words) {
  for_each_numerics_field([&](auto i) {
    given.take("--" + std::string(kPlanField<i>.typed.flag), words.by_row[i]);
  });
}

void take_objective(Given& given, ObjectiveOptions& o) {
  given.take_one_of("--objective", o.objective,
                    {"throughput", "time-to-train", "cost", "memory-headroom"});
  given.take("--slack", o.slack, 0.0, 10.0);
  given.take("--min-gpus", o.min_gpus, 1, kMaxDegree);
  given.take("--pareto", o.pareto);
}

void take_limits(Given& given, SearchOptions& o) {
  given.take("--time-limit", o.time_limit, 0.0, 1e9);
  given.take("--max-evaluations", o.max_evaluations, std::int64_t{0}, kMostEvaluations);
  given.take("--neighbours", o.neighbours, std::int64_t{0}, kMostEvaluations);
  given.take("--memory-margin", o.memory_margin, 0.0, 0.99);
  take_threads(given, o.threads);
}

}  // namespace

void take_target(Given& given, TargetOptions& o) {
  given.take("--model", o.model);
  given.take("--cluster", o.cluster);
  given.take("--gpus", o.gpus, 1, kMaxDegree);
  given.take("--seq-len", o.seq_len, std::int64_t{1}, kMaxTokens);
  given.take("--global-batch", o.global_batch.sequences, std::int64_t{1}, kMaxTokens);
  given.take("--runtime", o.runtime);
  given.take("--profile", o.profile);
  given.take("--capacity-factor", o.capacity_factor, 0.0, 1e6);
  given.take("--straggler-slowdown", o.straggler_slowdown, 0.0, 1e3);
  given.take("--unbound-ranks", o.unbound_ranks);
  given.take("--documents", o.documents, std::int64_t{1}, kMaxTokens);
  take_routing(given, o.routing);
  given.take("--pad-to-capacity", o.pad_to_capacity);
  given.take("--accept-mismatch", o.accept_mismatch);
}

void take_shape(Given& given, ShapeOptions& shape) {
  for (const ShapeOption& o : shape_options(shape)) {
    const std::string option = "--" + o.name;
    if (auto* const* number = std::get_if<std::optional<int>*>(&o.value)) {
      given.take(option, **number, 1, static_cast<int>(o.most));
    } else if (auto* const* share = std::get_if<std::optional<double>*>(&o.value)) {
      given.take(option, **share, 0.0, o.most);
    } else if (auto* const* word = std::get_if<std::optional<std::string>*>(&o.value)) {
      given.take(option, **word);
    } else {
      given.take(option, *std::get<bool*>(o.value));
    }
  }
}

PredictQuestion predict_question(const nb::dict& values) {
  Given given(values, "predict");
  PredictQuestion q;
  take_target(given, q.plan.target);
  take_shape(given, q.plan.shape);
  given.take("--plan", q.plan.plan_file);
  given.take("--plan-text", q.plan.plan_text);
  given.take("--tokens", q.tokens);
  given.take("--explain", q.explain);
  take_threads(given, q.threads);
  given.finish();
  return q;
}

FindPlanOptions plan_question(const nb::dict& values) {
  Given given(values, "plan");
  FindPlanOptions o;
  take_target(given, o.target);
  given.take("--tokens", o.tokens);
  given.take("--top", o.search.top, 1, 10'000);
  given.take("--compare", o.compare);
  take_objective(given, o.objective);
  given.take("--robust", o.search.robust);
  given.take("--explain", o.explain);
  given.take_one_of("--sensitivity", o.sensitivity, {"plans", "search"});
  given.take("--numerics", o.search.numerics.mode);
  take_numerics(given, o.search.numerics.fields);
  take_pins(given, o.search);
  take_limits(given, o.search);
  given.finish();
  refuse_ineffective_search_options(
      o, [&](const std::string& option) { return given.has(option); });
  return o;
}

CapacityOptions capacity_question(const nb::dict& values) {
  Given given(values, "capacity");
  CapacityOptions o;
  given.take("--model", o.model);
  given.take("--tokens", o.tokens);
  given.take("--deadline", o.deadline);
  given.take("--budget", o.budget);
  given.take("--clusters", o.clusters);
  given.take("--gpus", o.gpus);
  given.take("--gpu-step", o.gpu_step, 1, kMaxDegree);
  given.take("--confidence", o.confidence);
  given.take("--precision", o.precision);
  given.take("--numerics", o.numerics);
  given.take("--seq-len", o.seq_len, std::int64_t{1}, kMaxTokens);
  given.take("--global-batch", o.global_batch.sequences, std::int64_t{1}, kMaxTokens);
  take_routing(given, o.routing);
  given.take("--tuning", o.tuning);
  given.take("--batch-rule", o.batch_rule);
  given.take("--critical-batch", o.critical_batch);
  given.take("--price", o.price);
  given.take("--mtbf", o.mtbf);
  given.take("--rate", o.rates);
  given.take("--rates", o.rates_file);
  given.take("--proven", o.proven);
  take_threads(given, o.threads);
  given.finish();
  return o;
}

ValidateQuestion validate_question(const nb::dict& values) {
  Given given(values, "validate");
  ValidateQuestion q;
  given.take("--rows", q.rows);
  given.take("--tier", q.tiers);
  given.take("--recipes", q.recipes);
  given.take_one_of("--know", q.know, {"all", "tables", "datasheet"});
  given.take("--profile", q.profiles);
  take_threads(given, q.threads);
  given.finish();
  return q;
}

std::vector<std::pair<std::string, std::string>> plan_arguments() {
  static constexpr std::array kKinds{"number", "share", "word", "switch"};
  ShapeOptions shape;
  std::vector<std::pair<std::string, std::string>> list;
  for (const ShapeOption& o : shape_options(shape)) {
    list.emplace_back(argument_name(o.name), kKinds[o.value.index()]);
  }
  return list;
}

std::vector<std::string> search_arguments() {
  std::vector<std::string> list;
  for_each_numerics_field(
      [&](auto i) { list.push_back(argument_name(std::string(kPlanField<i>.typed.flag))); });
  for_each_pin(
      [&](auto i) { list.push_back(argument_name(std::string(kPlanField<i>.pin_flag()))); });
  for (const char* const name :
       {"hybrid_sharding", "paged_stash", "stash_capacity", "optimizer_offload", "cpu_optimizer",
        "by_stage", "recompute", "offload", "no_recompute", "no_offload"}) {
    list.emplace_back(name);
  }
  return list;
}

}  // namespace pleat::python
