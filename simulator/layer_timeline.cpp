// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Timelines of passes and pairs of passes from the price of every op.
#include "simulator/layer_timeline.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/program/graph_scope.hpp"
#include "core/program/step_walk.hpp"
#include "simulator/contention.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

bool is_transfer(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

// Does the host launch the op on its own, or is it inside a captured graph?
bool launched_by_host(const Op& op, CudaGraph graph) { return !is_in_scope(graph, op); }

// Weight tensors whose shards the ops of a pass gather or reduce, counted once an op: a runtime
// that shards weights (Megatron-FSDP) handles each in Python. An expert has tensors of its own.
int sharded_weight_events(const LayerProgram& layer, Pass pass) {
  std::int64_t local_experts = 1;
  for (const Op& op : layer.ops(pass)) {
    if (op.kind == OpKind::grouped_gemm)
      local_experts = std::max(local_experts, op.attr.local_experts);
  }
  std::int64_t tensors[2] = {};
  for (const Weight& w : layer.weights) {
    if (w.buffer) continue;
    tensors[static_cast<std::size_t>(w.bucket)] += w.bucket == Bucket::expert ? local_experts : 1;
  }
  std::int64_t events = 0;
  for (const Op& op : layer.ops(pass)) {
    if (op.module != Module::grad_sync || !is_collective(op.kind)) continue;
    const bool experts = op.group == Group::edp || op.group == Group::edp_shard ||
                         op.group == Group::edp_replicas;
    events += tensors[static_cast<std::size_t>(experts ? Bucket::expert : Bucket::dense)];
  }
  return static_cast<int>(events);
}

// An exchange at which the ranks that share a layer's tensors wait for the slowest host.
bool meets_tensor_parallel(const Op& op, CudaGraph graph) {
  return op.group == Group::tp && is_collective(op.kind) && launched_by_host(op, graph);
}

// The layers of a forward and of a backward pass; null: there is none.
struct OpLists {
  const TimedLayer* forward = nullptr;
  const TimedLayer* backward = nullptr;
  [[nodiscard]] const TimedLayer* of(Pass p) const {
    return p == Pass::forward ? forward : backward;
  }
  [[nodiscard]] const LayerProgram& layer(Pass p) const { return of(p)->layer; }
};

const Op& op_of(const PairStep& step, const OpLists& lists) {
  return lists.layer(step.pass).ops(step.pass)[static_cast<std::size_t>(step.op)];
}

// An op beside an exchange in pieces that it reads from (a gather) or writes to (a reduction).
void link_pieces(StreamOp& stream_op, const PairStep& step, const OpLists& lists,
                 const std::vector<PairStep>& steps, const ClusterView& view,
                 const Profile& profile) {
  const Op& op = op_of(step, lists);
  const OpKind family = family_of(op.kind);
  const bool reduction = family == OpKind::reduce_scatter || family == OpKind::all_to_all_back;
  if (op.in_pieces && reduction) {
    // The last producer; lead and tail: its first piece is there early, the last one late.
    if (stream_op.after.empty()) return;
    stream_op.with = *std::ranges::max_element(stream_op.after);
    stream_op.tail = exposed_share(op, view, profile);
    return;
  }
  for (int before : stream_op.after) {
    const Op& other = op_of(steps[static_cast<std::size_t>(before)], lists);
    const OpKind made_by = family_of(other.kind);
    const bool gather = made_by == OpKind::all_gather || made_by == OpKind::all_to_all;
    if (!other.in_pieces || !gather) continue;
    stream_op.with = before;
    // User buffers wait for the first piece. Elsewhere the rank's own piece is there at once, and
    // the last one is worked on when all have come.
    if (other.group == Group::tp) {
      stream_op.lead = exposed_share(other, view, profile);
    } else {
      stream_op.tail = exposed_share(other, view, profile);
    }
  }
}

// Compute slows down while shards travel beside it, which costs nothing where it waits for them
// anyway. Gathers that compute waits for share the network with reductions beside it: together they
// take no less than one after the other.
Seconds lost_to_shards(const LayerTimeline& line, const OpLists& lists, Seconds shards,
                       const Profile& profile) {
  Seconds own_end, exchanges;
  for (std::size_t i = 0; i < line.steps.size(); ++i) {
    const Op& op = op_of(line.steps[i], lists);
    if (op.module == Module::grad_sync) {
      if (is_collective(op.kind)) exchanges += line.costs[i].time;
      continue;
    }
    own_end = std::max(own_end, line.streams.finish[i]);
  }
  const Seconds slowed = own_end + std::min(shards, own_end) * profile.dp_beside_compute;
  return std::max(Seconds(0), std::max(slowed, exchanges) - line.streams.end);
}

// The steps as the streams see them; prices and host times go to `line`.
std::vector<StreamOp> make_stream_ops(LayerTimeline& line, const OpLists& lists,
                                      const ClusterView& view, const Profile& profile,
                                      Seconds& shards) {
  std::vector<StreamOp> ops;
  ops.reserve(line.steps.size());
  line.costs.reserve(line.steps.size());
  bool two_streams = false;
  int launches = 0;
  std::int64_t unfused = 0;  // kernels that the host launches beside those
  for (const PairStep& step : line.steps) {
    const Stream stream = on_cpu(view) ? Stream::compute : step.stream;
    const Op& op = op_of(step, lists);
    line.costs.push_back(
        lists.of(step.pass)->priced.of(step.pass).costs[static_cast<std::size_t>(step.op)]);
    if (launched_by_host(op, view.cuda_graph)) {
      ++launches;
      unfused += op.attr.unfused_kernels;
    }
    if (meets_tensor_parallel(op, view.cuda_graph)) line.host_extra += profile.tp_skew;
    const OpCost& cost = line.costs.back();
    ops.push_back({.duration = is_transfer(op) ? Seconds(0) : cost.time,
                   .cls = cost.cls,
                   .stream = stream});
    set_contention(ops.back(), op, view, profile);
    if (op.module == Module::grad_sync && stream == Stream::copy) shards += cost.time;
    two_streams = two_streams || stream != Stream::compute;
  }
  if (two_streams) {  // else program order is all there is
    int first_op[2] = {0, 0};  // a part of a pass begins later
    if (!line.steps.empty() && lists.layer(line.steps.front().pass).weight_ops) {
      const PairStep& front = line.steps.front();
      if (front.pass == Pass::backward && front.op == *lists.backward->layer.weight_ops) {
        first_op[1] = front.op;
      }
    }
    for (Pass pass : {Pass::forward, Pass::backward}) {
      if (lists.of(pass) == nullptr) continue;
      const Dependencies& deps = lists.of(pass)->priced.of(pass).after;
      if (deps.size() == 0) continue;
      std::vector<int> place(deps.size(), -1);  // of the op among the steps
      for (std::size_t i = 0; i < line.steps.size(); ++i) {
        if (line.steps[i].pass != pass) continue;
        const auto own = static_cast<std::size_t>(line.steps[i].op);
        place[own] = static_cast<int>(i);
        for (int before : deps[own]) {
          const int at = place[static_cast<std::size_t>(before)];
          if (before < first_op[static_cast<std::size_t>(pass)]) continue;  // in an earlier slot
          PLEAT_ASSERT(at >= 0);
          // Reloads are issued a layer ahead: their rate counts, not their latency.
          if (op_of(line.steps[static_cast<std::size_t>(at)], lists).kind == OpKind::reload)
            continue;
          ops[i].after.push_back(at);
        }
        link_pieces(ops[i], line.steps[i], lists, line.steps, view, profile);
      }
    }
  }
  line.host = profile.host_per_op * launches;
  line.host_extra += profile.host_per_launch * static_cast<double>(unfused);
  for (Pass pass : {Pass::forward, Pass::backward}) {
    if (lists.of(pass) == nullptr) continue;
    line.host += profile.host_per_sharded_weight * sharded_weight_events(lists.layer(pass), pass);
  }
  return ops;
}

LayerTimeline run(std::vector<PairStep> steps, const OpLists& lists, const ClusterView& view,
                  const Profile& profile) {
  LayerTimeline line;
  line.steps = std::move(steps);
  Seconds shards;  // beside compute
  line.streams = run_streams(make_stream_ops(line, lists, view, profile, shards));
  if (shards > Seconds(0)) line.lost_to_shards = lost_to_shards(line, lists, shards, profile);
  return line;
}

std::vector<PairStep> steps_of(const LayerProgram& layer, Pass pass) {
  std::vector<PairStep> steps;
  const std::vector<Op>& ops = layer.ops(pass);
  steps.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    steps.push_back({pass, static_cast<int>(i), ops[i].stream});
  }
  return steps;
}

OpLists lists_of(const TimedLayer& timed, Pass pass) {
  return pass == Pass::forward ? OpLists{&timed, nullptr} : OpLists{nullptr, &timed};
}

// A third of the layer's host time forward, two thirds backward.
double share_of(Pass pass) { return pass == Pass::forward ? 1.0 / 3 : 2.0 / 3; }

// Of a pass's operations those that no graph holds; 1 without graphs.
double launched_share(const std::vector<Op>& ops, CudaGraph graph) {
  if (graph == CudaGraph::none) return 1;
  if (ops.empty()) return 0;
  const auto launched =
      std::ranges::count_if(ops, [&](const Op& op) { return launched_by_host(op, graph); });
  return static_cast<double>(launched) / static_cast<double>(ops.size());
}

// What the host does for a layer that its operations do not show, shared out evenly among them: of
// operations in a graph it does nothing.
Seconds busy_of_pass(const LayerProgram& layer, Pass pass, const ClusterView& view,
                     const Profile& profile) {
  const bool decoder = layer.kind == LayerKind::moe || layer.kind == LayerKind::mtp ||
                       layer.kind == LayerKind::dense;
  if (!decoder) return Seconds(0);
  return profile.host_busy_per_layer *
         (share_of(pass) * layer.layers * launched_share(layer.ops(pass), view.cuda_graph));
}

}  // namespace

std::vector<StreamOp> stream_ops(const TimedLayer& timed, Pass pass, const ClusterView& view,
                                 const Profile& profile) {
  LayerTimeline line;
  line.steps = steps_of(timed.layer, pass);
  Seconds shards;
  return make_stream_ops(line, lists_of(timed, pass), view, profile, shards);
}

Seconds host_of_pass(const LayerProgram& layer, Pass pass, const ClusterView& view,
                     const Profile& profile) {
  const double share = share_of(pass) * layer.layers;
  const auto graph = static_cast<std::size_t>(view.cuda_graph);
  switch (layer.kind) {
    case LayerKind::moe:
    case LayerKind::mtp: return profile.host_per_moe_layer.at(graph) * share;
    case LayerKind::dense: return profile.host_per_dense_layer.at(graph) * share;
    case LayerKind::head: return profile.host_per_head * share;
    case LayerKind::embedding:
    case LayerKind::recv:
    case LayerKind::send: return Seconds(0);
  }
  return Seconds(0);
}

LayerTimeline pass_timeline(const TimedLayer& timed, Pass pass, const ClusterView& view,
                            const Profile& profile) {
  LayerTimeline line = run(steps_of(timed.layer, pass), lists_of(timed, pass), view, profile);
  line.host += busy_of_pass(timed.layer, pass, view, profile);
  line.host_extra += host_of_pass(timed.layer, pass, view, profile);
  return line;
}

LayerTimeline part_timeline(const TimedLayer& timed, SlotPart part, const ClusterView& view,
                            const Profile& profile) {
  const LayerProgram& layer = timed.layer;
  std::vector<PairStep> steps;
  const OpRange range = ops_of(layer, {Pass::backward, {}, {}, false, part});
  for (std::size_t i = range.begin; i < range.end; ++i) {
    steps.push_back({Pass::backward, static_cast<int>(i), layer.backward[i].stream});
  }
  LayerTimeline line = run(std::move(steps), lists_of(timed, Pass::backward), view, profile);
  line.host_extra += host_of_pass(layer, Pass::backward, view, profile) * 0.5;
  return line;
}

LayerTimeline pair_timeline(const TimedLayer& forward, const TimedLayer& backward,
                            const ClusterView& view, const Profile& profile, bool delay_wgrad,
                            std::optional<Seconds> alone) {
  LayerTimeline line = run(pair_layers(forward.layer, backward.layer, delay_wgrad),
                           {&forward, &backward}, view, profile);
  line.host += busy_of_pass(forward.layer, Pass::forward, view, profile) +
               busy_of_pass(backward.layer, Pass::backward, view, profile);
  line.host_extra += host_of_pass(forward.layer, Pass::forward, view, profile) +
                     host_of_pass(backward.layer, Pass::backward, view, profile);
  if (!alone) {
    alone = pass_timeline(forward, Pass::forward, view, profile).streams.end +
            pass_timeline(backward, Pass::backward, view, profile).streams.end;
  }
  const double eta = is_fused(view.dispatcher) ? profile.overlap_efficiency
                                               : profile.overlap_efficiency_nccl;
  line.lost_overlap = std::max(Seconds(0), *alone - line.streams.end) * (1.0 - eta);
  return line;
}

}  // namespace pleat
