// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_work.hpp"

#include <algorithm>

#include "core/program/step_state.hpp"
#include "simulator/cost/op_work.hpp"
#include "simulator/layer_timeline.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {

LayerWeights count_weights(const LayerProgram& layer) {
  LayerWeights weights;
  for (const Weight& w : layer.weights) {
    if (w.buffer) continue;
    const auto bucket = static_cast<std::size_t>(w.bucket) + (is_muon_matrix(layer, w) ? 2 : 0);
    weights.of[bucket] += w.elements;
    if (w.summed_over_tp) weights.replicated[bucket] += w.elements;
    if (is_table(layer, w)) weights.table += w.elements;
  }
  weights.kept_gradients = kept_weight_gradients(layer);
  return weights;
}

bool is_compute(CostClass cls) {
  switch (cls) {
    case CostClass::gemm:
    case CostClass::grouped_gemm:
    case CostClass::attention:
    case CostClass::memory_bound:
      return true;
    case CostClass::optimizer:
    case CostClass::tp_comm:
    case CostClass::cp_comm:
    case CostClass::ep_comm:
    case CostClass::pp_comm:
    case CostClass::dp_comm:
    case CostClass::host:
    case CostClass::offload:
    case CostClass::bubble:
      return false;
  }
  return false;
}

namespace {

// Ops [begin, end) of a pass, from the first to the end of the last compute op. What may have begun
// before, may be moved elsewhere, or is no part of the order takes no time; nothing slows anything.
Seconds segment_time(const std::vector<Op>& ops, const std::vector<StreamOp>& on_streams,
                     int begin, int end) {
  std::vector<StreamOp> own;
  own.reserve(static_cast<std::size_t>(end - begin));
  for (int i = begin; i < end; ++i) {
    const Op& op = ops[static_cast<std::size_t>(i)];
    const StreamOp& whole = on_streams[static_cast<std::size_t>(i)];
    StreamOp& part = own.emplace_back();
    part.duration = whole.duration;
    part.cls = whole.cls;
    part.stream = whole.stream;
    for (int before : whole.after) {
      if (before >= begin) part.after.push_back(before - begin);
    }
    if (whole.with >= begin) {
      part.with = whole.with - begin;
      part.lead = whole.lead;
      part.tail = whole.tail;
    }
    const bool beside = part.stream != Stream::compute;
    if (is_token_exchange(op) || part.stream == Stream::copy ||
        (beside && (part.after.empty() || op.module == Module::shared_experts))) {
      part.duration = Seconds(0);
    }
  }
  const StreamTimeline line = run_streams(own);
  Seconds last;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].stream == Stream::compute) last = std::max(last, line.finish[i]);
  }
  return last;
}

// Which half of a backward pass the op belongs to; -1: it has none.
int half_of(const LayerProgram& layer, Pass pass, std::size_t op) {
  if (pass == Pass::forward || !layer.weight_ops) return -1;
  return op >= static_cast<std::size_t>(*layer.weight_ops) ? 1 : 0;
}

void add_pass(LayerWork& work, const TimedLayer& timed, Pass pass, const ClusterView& view,
              const Profile& profile) {
  const LayerProgram& layer = timed.layer;
  const std::vector<Op>& ops = layer.ops(pass);
  const std::vector<OpCost>& costs = timed.priced.of(pass).costs;
  const std::vector<StreamOp> on_streams = stream_ops(timed, pass, view, profile);
  const auto p = static_cast<std::size_t>(pass);
  bool waits = false;
  Seconds sum;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Seconds time = on_streams[i].duration;
    if (is_compute(costs[i].cls)) {
      work.compute[p] += time;
      if (costs[i].cls != CostClass::memory_bound) work.matrix += time;
      if (const int half = half_of(layer, pass, i); half >= 0) work.halves[half] += time;
    }
    if (ops[i].kind == OpKind::send) work.send = std::max(work.send, costs[i].time);
    if (on_streams[i].stream == Stream::copy) work.copies[p] += time;
    if (is_token_exchange(ops[i])) {
      work.exchanges[p] += time;
    } else if (ops[i].stream == Stream::compute) {
      sum += time;
    } else if (ops[i].stream == Stream::comm) {
      waits = true;
    }
  }
  work.busy[p] += sum;
  if (waits) {
    const Segments cut = pair_segments(ops);
    const int all = static_cast<int>(ops.size());
    const Seconds segments = segment_time(ops, on_streams, 0, cut.first_end) +
                             segment_time(ops, on_streams, cut.first_end, cut.second_end) +
                             segment_time(ops, on_streams, cut.second_end, all);
    sum = std::max(sum, segments);
  }
  work.in_order[p] += sum;
}

// Of a pass in its own order.
MemoryDelta along(const OpBytes& pass) {
  MemoryDelta delta{.peak = std::max<std::int64_t>(0, pass.copies.peak), .net = pass.copies.net};
  for (std::size_t i = 0; i < pass.born.size(); ++i) {
    delta.net += pass.born[i];
    delta.peak = std::max(delta.peak, delta.net);
    delta.net -= pass.freed[i];
  }
  return delta;
}

}  // namespace

LayerWork compute_of(const LayerProgram& layer, const Binding& binding, const ClusterView& view,
                     const Profile& profile) {
  LayerWork work;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const std::vector<Op>& ops = layer.ops(pass);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      const bool sent = op.kind == OpKind::send;
      if (!sent && !is_compute(class_of(op))) continue;
      const Seconds time = price_op(op, layer.tensors, binding, view, profile).time;
      if (sent) {
        work.send = std::max(work.send, time);
      } else {
        work.compute[static_cast<std::size_t>(pass)] += time;
        if (class_of(op) != CostClass::memory_bound) work.matrix += time;
        if (const int half = half_of(layer, pass, i); half >= 0) work.halves[half] += time;
      }
    }
  }
  return work;
}

LayerWork work_of(const TimedLayer& timed, const Binding& binding, const ClusterView& view,
                  const Profile& profile) {
  const LayerProgram& layer = timed.layer;
  LayerWork work;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    add_pass(work, timed, pass, view, profile);
  }
  const Binding kept{.routed = binding.stashed > 0 ? binding.stashed : binding.routed};
  for (const Lifetime& life : layer.lives) {
    const bool born = life.begin && life.begin->pass == Pass::forward;
    const bool freed = life.end && life.end->pass == Pass::forward;
    if (born != freed) {
      const std::int64_t bytes = layer.tensor(life.tensor).bytes(kept);
      work.saved += born ? bytes : -bytes;
    }
  }
  const MemoryDelta backward = along(op_bytes(layer, Pass::backward, binding));
  work.beside = backward.peak;
  work.net = backward.net;
  return work;
}

LayerWork both_halves(const LayerWork& mixer, const LayerWork& mlp) {
  LayerWork work = mixer;
  for (const auto times : {&LayerWork::compute, &LayerWork::in_order, &LayerWork::busy,
                           &LayerWork::exchanges, &LayerWork::copies, &LayerWork::halves}) {
    for (std::size_t i = 0; i < 2; ++i) (work.*times)[i] += (mlp.*times)[i];
  }
  work.matrix += mlp.matrix;
  work.send = std::max(work.send, mlp.send);
  work.saved += mlp.saved;
  work.beside = std::max(mlp.beside, mlp.net + mixer.beside);  // the MLP's gradients come first
  work.net += mlp.net;
  return work;
}

LayerWeights both_halves(const LayerWeights& mixer, const LayerWeights& mlp) {
  LayerWeights weights = mixer;
  for (std::size_t b = 0; b < weights.of.size(); ++b) {
    weights.of[b] += mlp.of[b];
    weights.replicated[b] += mlp.replicated[b];
  }
  weights.table += mlp.table;
  // Gradients of one shape are kept once: both halves may have it.
  weights.kept_gradients = std::max(mixer.kept_gradients, mlp.kept_gradients);
  return weights;
}

}  // namespace pleat
