// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/explain/explain_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "planner/search/parallel_rounds.hpp"
#include "simulator/estimator.hpp"
#include "simulator/stage_record.hpp"

namespace pleat {
namespace {

// Below a thousandth of the step a gain is noise beside the band of any profile.
constexpr double kLeastGain = 1e-3;

const char* kind_name(LayerKind kind) {
  switch (kind) {
    case LayerKind::embedding:
      return "embedding";
    case LayerKind::dense:
      return "dense";
    case LayerKind::moe:
      return "moe";
    case LayerKind::mtp:
      return "mtp";
    case LayerKind::head:
      return "head";
    case LayerKind::recv:
      return "receive";
    case LayerKind::send:
      return "send";
  }
  return "?";
}

void add(OpTotal& total, const OpCost& cost, Seconds time, std::int64_t times) {
  total.cls = cost.cls;
  total.source = total.count == 0 ? cost.source : std::max(total.source, cost.source);
  total.count += times;
  total.time += time * static_cast<double>(times);
  total.flops += cost.flops * static_cast<double>(times);
  total.bytes += cost.bytes * static_cast<double>(times);
}

std::vector<OpTotal> op_totals(const Program& program, const ClusterSpec& cluster,
                               const Profile& burst, std::size_t stage_index) {
  const Profile profile = warm_profile(program, cluster, burst);
  const ClusterView view = view_cluster(cluster, program.plan);
  const LayerRows rows(program.model, program.workload, program.plan);
  const StageProgram& stage = program.stages[stage_index];
  std::vector<std::int64_t> times(stage.layers.size());  // each layer program runs in a step
  for (const Slot& slot : stage.order) {
    if (slot.pass == Pass::backward) continue;  // as often as forward
    for (const LayerInstance& i : stage.chunks[slot.chunk.index()].instances) {
      ++times[static_cast<std::size_t>(i.program)];
    }
  }
  std::map<std::tuple<std::string, Pass, std::string>, OpTotal> totals;
  const auto total_of = [&](const char* layer, Pass pass, const Op& op) -> OpTotal& {
    OpTotal& total = totals[{layer, pass, op.name}];
    total.layer = layer;
    total.pass = pass;
    total.op = op.name;
    total.module = op.module;
    return total;
  };
  for (std::size_t l = 0; l < stage.layers.size(); ++l) {
    const LayerProgram& layer = stage.layers[l];
    const Binding routed = rows.of(layer);
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      for (const Op& op : layer.ops(pass)) {
        const OpCost cost = price_op(op, layer.tensors, routed, view, profile);
        add(total_of(kind_name(layer.kind), pass, op), cost, cost.time, times[l]);
      }
    }
  }
  for (const auto* ops : {&stage.prologue, &stage.epilogue}) {
    const std::vector<StepOpCost> costs =
        price_step_ops(stage, shard_view(stage), *ops, view, profile);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const OpCost& cost = costs[i].cost;
      add(total_of("step", Pass::forward, (*ops)[i]), cost, cost.time, 1);
    }
  }
  std::vector<OpTotal> list;
  for (auto& [key, total] : totals) {
    if (total.time > Seconds(0)) list.push_back(std::move(total));
  }
  std::ranges::stable_sort(list,
                           [](const OpTotal& a, const OpTotal& b) { return a.time > b.time; });
  return list;
}

std::vector<PricedChange> price_changes(const Request& r, const StepEstimate& e, int threads) {
  const std::vector<SingleChange> changes = single_changes(r.target, r.plan);
  std::vector<PricedChange> priced(changes.size());
  const Estimator price(r.target.model, r.target.workload, r.target.cluster, r.target.profile,
                        r.target.runtime);
  for_each_in_parallel(changes.size(), thread_count(threads), [&](std::size_t i) {
    const StepEstimate other = price(changes[i].plan);
    priced[i] = {changes[i],
                 other.step,
                 e.step - other.step,
                 other.peak_bytes(),
                 other.peak_bytes() - e.peak_bytes(),
                 other.fits};
  });
  std::ranges::stable_sort(priced, [](const PricedChange& a, const PricedChange& b) {
    return std::tuple(!a.fits, a.step.base()) < std::tuple(!b.fits, b.step.base());
  });
  return priced;
}

}  // namespace

const PricedChange* Explanation::best(bool arithmetic) const {
  for (const PricedChange& c : changes) {
    if (!c.fits || c.change.arithmetic != arithmetic) continue;
    return c.gain > (c.step + c.gain) * kLeastGain ? &c : nullptr;
  }
  return nullptr;
}

Explanation explain_plan(const Request& r, const Program& program, const StepEstimate& e,
                         int threads) {
  Explanation explanation;
  const auto busiest = std::ranges::max_element(e.stages, {}, &StageTime::busy);
  const auto at = static_cast<std::size_t>(busiest - e.stages.begin());
  explanation.stage = busiest->stage.value;
  explanation.ops = op_totals(program, r.target.cluster, r.target.profile, at);
  explanation.changes = price_changes(r, e, threads);
  return explanation;
}

}  // namespace pleat
