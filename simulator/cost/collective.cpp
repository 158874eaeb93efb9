// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives: measured times within one domain, else wire bytes over the links of the tiers a
// group crosses and latency per step (docs/MODEL.md sections 5 and 6).
#include <algorithm>
#include <cmath>

#include "simulator/cost/collective_links.hpp"

namespace pleat {
namespace {

Collective curve_kind(OpKind family) {
  if (family == OpKind::all_gather) return Collective::all_gather;
  if (family == OpKind::reduce_scatter) return Collective::reduce_scatter;
  if (family == OpKind::all_reduce) return Collective::all_reduce;
  if (family == OpKind::all_to_all || family == OpKind::all_to_all_back) {
    return Collective::all_to_all;
  }
  PLEAT_ASSERT(family == OpKind::send || family == OpKind::recv || family == OpKind::ring_shift);
  return Collective::send_recv;
}

Bytes total(const std::vector<TensorId>& ids, const std::vector<Tensor>& tensors,
            const Binding& binding) {
  double bytes = 0;
  for (TensorId id : ids) bytes += static_cast<double>(tensors[id.index()].bytes(binding));
  return Bytes(bytes);
}

// The whole tensor X of a gather or reduction, as it travels. Ops on a part of their tensor say how
// long that is.
Bytes whole_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  if (op.attr.n != Dim{}) {
    const Tensor& t = tensors[op.in.front().index()];
    return Bytes(static_cast<double>(bytes_of(t.dtype, binding.value(op.attr.n))) * op.attr.wire);
  }
  // A reduction's further operands tell how long its pieces are.
  const std::vector<TensorId> whole =
      family_of(op.kind) == OpKind::all_gather ? op.out : std::vector<TensorId>{op.in.front()};
  return total(whole, tensors, binding) * op.attr.wire;
}

// Over the rate of the kernel alone.
double exchange_rate(Dispatcher dispatcher, const RunConstants& run) {
  const bool own_kernel = dispatcher == Dispatcher::deepep || dispatcher == Dispatcher::hybridep;
  return own_kernel ? run.exchange_rate : run.exchange_rate_nccl;
}

constexpr double kTreeRate = 0.92;  // of a ring's (NCCL's tuning table)

// Ring: between domains on the outer links, the rest within them; every member of a domain carries
// part of the ring over its own outer link. Reductions to all may also go up and down a tree.
Seconds ring_time(const CollectiveLinks& links, const GroupPlace& place, Collective kind,
                  Bytes wire, Bytes whole) {
  const double n = place.size, domains = n / place.inside;
  const Link& outer = links.outer;
  const Link& inner = links.inner;
  if (!links.several_tiers) {
    return outer.curve.latency + outer.curve.latency_per_rank * (n - 1) +
           wire / outer.rate * slow_start(outer.curve, whole);
  }
  const BytesPerSecond rate(std::min(inner.rate.base(), outer.rate.base() * place.inside));
  const Seconds transfer = wire / rate * slow_start(outer.curve, whole);
  const Seconds ring = outer.curve.latency + outer.curve.latency_per_rank * (domains - 1) +
                       inner.curve.latency_per_rank * (n - domains) + transfer;
  if (kind != Collective::all_reduce) return ring;
  const Seconds tree = outer.curve.latency +
                       (inner.curve.latency_per_rank * (place.inside - 1.0) +
                        outer.curve.latency_per_rank * std::log2(domains)) *
                           2 +
                       transfer / kTreeRate;
  return std::min(ring, tree);
}

}  // namespace

double slow_start(const CollectiveCurve& curve, Bytes whole) {
  if (curve.slow_start <= Bytes(0) || whole <= Bytes(0)) return 1.0;
  return 1.0 + std::sqrt(curve.slow_start / whole);
}

Link link(const ClusterView& view, const Profile& profile, std::size_t tier, Collective kind) {
  PLEAT_ASSERT(tier < view.cluster->tiers.size() && !profile.collectives.empty());
  const NetworkTier& t = view.cluster->tiers[tier];
  CollectiveCurve curve = profile.collective(tier, kind);
  // A datasheet curve has no measured latency: the link's own is its floor.
  if (curve.source == SourceClass::datasheet) curve.latency = std::max(curve.latency, t.latency);
  return {.rate = t.bandwidth * curve.efficiency, .curve = curve};
}

std::optional<KernelPrice> measured_time(const Profile& profile, Collective kind, int ranks,
                                         Bytes whole) {
  if (!profile.collective_times) return std::nullopt;
  const CollectiveSeries* series =
      nearest_series(*profile.collective_times, static_cast<std::size_t>(kind), ranks);
  if (series == nullptr) return std::nullopt;
  const TableTime at = time_at(*series, whole);
  if (series->ranks == ranks) return KernelPrice{at.time, at.source};
  const double here = static_cast<double>(ranks - 1) / ranks;
  const double there = static_cast<double>(series->ranks - 1) / series->ranks;
  return KernelPrice{at.time * (here / there) + profile.collective(0, kind).latency_per_rank *
                                                    static_cast<double>(ranks - series->ranks),
                     SourceClass::fitted};
}

// Keys and values passed around a ring of point-to-point transfers, n - 1 steps of one piece; every
// step waits for the slowest link.
Seconds step_ring_time(const Link& outer, int n, Bytes whole) {
  const Bytes piece = whole / n;
  return (outer.curve.latency + outer.curve.latency_per_rank +
          piece / outer.rate * slow_start(outer.curve, piece)) *
         (n - 1);
}

OpCost collective_cost(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                       const ClusterView& view, const Profile& profile) {
  GroupPlace place = view.groups[static_cast<std::size_t>(op.group)];
  if (op.attr.run > 0) {
    place.size = static_cast<int>(op.attr.run);
    place.inside = std::min(place.inside, place.size);
  }
  OpCost cost;
  cost.cls = class_of(op);
  cost.source = SourceClass::measured;
  if (place.size <= 1 || op.attr.passes == 0) return cost;  // alone, or inside another kernel
  const Collective kind = curve_kind(family_of(op.kind));
  const bool several_tiers = place.tier > 0 && place.inside > 1;
  const Link outer = link(view, profile, place.tier, kind);
  const CollectiveLinks links{
      .outer = outer,
      .inner = several_tiers ? link(view, profile, place.tier - 1, kind) : outer,
      .several_tiers = several_tiers};
  cost.source = std::max(outer.curve.source, links.inner.curve.source);
  switch (kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_reduce: {
      const Bytes whole = whole_bytes(op, tensors, binding);
      const double passes = kind == Collective::all_reduce ? 2.0 : 1.0;
      cost.bytes = whole * (passes * (place.size - 1) / place.size);
      if (op.in_pieces && (op.group == Group::cp || op.group == Group::cp_ring)) {
        const Link hop = link(view, profile, place.tier, Collective::send_recv);
        cost.source = hop.curve.source;
        cost.time = step_ring_time(hop, place.size, whole);
        break;
      }
      cost.time = ring_time(links, place, kind, cost.bytes, whole);
      if (place.tier > 0) break;
      if (const auto measured = measured_time(profile, kind, place.size, whole)) {
        cost.time = measured->time;
        cost.source = measured->source;
      }
      break;
    }
    case Collective::all_to_all: {
      const Bytes payload = Bytes(std::max(
          static_cast<double>(tensors[op.in.front().index()].bytes(binding)),
          static_cast<double>(tensors[op.out.front().index()].bytes(binding))) * op.attr.wire);
      const Tensor& moved = tensors[op.in.front().index()];
      const Bytes row(static_cast<double>(
          bytes_of(moved.dtype, std::max<std::int64_t>(1, moved.columns(binding)))) * op.attr.wire);
      const OpCost exchange = all_to_all_cost(op, payload, row, place, links, view, profile);
      const bool experts = op.group == Group::ep;
      cost.time = exchange.time / (experts ? exchange_rate(view.dispatcher, profile) : 1.0);
      cost.bytes = exchange.bytes;
      cost.source = exchange.source;
      break;
    }
    case Collective::send_recv:
      cost.bytes = total(op.kind == OpKind::send ? op.in : op.out, tensors, binding);
      cost.time = outer.curve.latency + outer.curve.latency_per_rank +
                  cost.bytes / outer.rate * slow_start(outer.curve, cost.bytes);
      break;
  }
  cost.time *= sharing_slowdown(view, profile);
  return cost;
}

}  // namespace pleat
