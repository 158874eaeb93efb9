// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives: wire bytes over the links of the tiers a group crosses, latency per step
// (docs/MODEL.md sections 5 and 6).
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

Collective curve_kind(OpKind kind) {
  if (kind == OpKind::all_gather) return Collective::all_gather;
  if (kind == OpKind::reduce_scatter) return Collective::reduce_scatter;
  if (kind == OpKind::all_reduce) return Collective::all_reduce;
  if (kind == OpKind::all_to_all || kind == OpKind::all_to_all_back) return Collective::all_to_all;
  PLEAT_ASSERT(kind == OpKind::send || kind == OpKind::recv);
  return Collective::send_recv;
}

Bytes total(const std::vector<TensorId>& ids, const std::vector<Tensor>& tensors,
            const Binding& binding) {
  double bytes = 0;
  for (TensorId id : ids) bytes += static_cast<double>(tensors[id.index()].bytes(binding));
  return Bytes(bytes);
}

// The whole tensor X of a gather or reduction. An all-reduce of a bucket's head says how long that
// is.
Bytes whole_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  if (op.kind == OpKind::all_reduce && op.attr.n != Dim{}) {
    const Tensor& t = tensors[op.in.front().index()];
    return Bytes(static_cast<double>(bytes_of(t.dtype, binding.value(op.attr.n))));
  }
  return total(op.kind == OpKind::all_gather ? op.out : op.in, tensors, binding);
}

// Links of one tier as one collective uses them.
struct Link {
  BytesPerSecond rate;  // per rank
  CollectiveCurve curve;
};

Link link(const ClusterView& view, const Profile& profile, std::size_t tier, Collective kind) {
  PLEAT_ASSERT(tier < view.cluster->tiers.size() && !profile.collectives.empty());
  const NetworkTier& t = view.cluster->tiers[tier];
  CollectiveCurve curve = profile.collective(tier, kind);
  // A datasheet curve has no measured latency: the link's own is its floor.
  if (curve.source == SourceClass::datasheet) curve.latency = std::max(curve.latency, t.latency);
  return {.rate = t.bandwidth * curve.efficiency, .curve = curve};
}

// Bytes one rank puts on the inner (within a domain) and outer links in an all-to-all of X bytes.
struct Split {
  double inner = 0, outer = 0;
};

Split all_to_all_split(const Op& op, Bytes payload, const GroupPlace& place,
                       Dispatcher dispatcher) {
  const double n = place.size, inside = place.inside, x = payload.base();
  const bool one_copy_per_destination =
      (dispatcher == Dispatcher::deepep || dispatcher == Dispatcher::hybridep) &&
      op.attr.experts > 0 && op.attr.top_k > 0;
  if (!one_copy_per_destination) return {x * (inside - 1) / n, x * (n - inside) / n};
  // One copy per destination node over the outer links, forwarded inside it to each rank.
  const double k = static_cast<double>(op.attr.top_k);
  const double nodes = n / inside;
  const double rank_copies = distinct_units(place.size, op.attr.experts, op.attr.top_k) / k;
  const double node_copies =
      distinct_units(static_cast<int>(nodes), op.attr.experts, op.attr.top_k) / k;
  return {x * rank_copies * (inside - 1) / inside, x * node_copies * (nodes - 1) / nodes};
}

}  // namespace

double distinct_units(int units, std::int64_t experts, std::int64_t top_k) {
  if (units <= 1) return 1.0;
  // C(E - E/U, k) / C(E, k) as a product: the chance that no pick falls on one given unit.
  const double e = static_cast<double>(experts), own = e / units;
  double none = 1.0;
  for (std::int64_t i = 0; i < top_k; ++i) {
    const double left = e - static_cast<double>(i);
    none *= std::max(0.0, left - own) / left;
  }
  return units * (1.0 - none);
}

OpCost collective_cost(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                       const ClusterView& view, const Profile& profile) {
  const GroupPlace& place = view.groups[static_cast<std::size_t>(op.group)];
  OpCost cost;
  cost.cls = class_of(op);
  cost.source = SourceClass::measured;
  if (place.size <= 1) return cost;
  const Collective kind = curve_kind(op.kind);
  const Link outer = link(view, profile, place.tier, kind);
  const bool several_tiers = place.tier > 0 && place.inside > 1;
  const Link inner = several_tiers ? link(view, profile, place.tier - 1, kind) : outer;
  const double n = place.size;
  const double domains = n / place.inside;

  // Ring steps: between domains on the outer links, the rest within them.
  Seconds latency = outer.curve.latency + outer.curve.latency_per_rank * (n - 1);
  if (several_tiers) {
    latency = outer.curve.latency + outer.curve.latency_per_rank * (domains - 1) +
              inner.curve.latency_per_rank * (n - domains);
  }
  Seconds transfer;
  switch (kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_reduce: {
      const double passes = kind == Collective::all_reduce ? 2.0 : 1.0;
      cost.bytes = whole_bytes(op, tensors, binding) * (passes * (n - 1) / n);
      // Every member of a domain carries part of the ring over its own outer link.
      BytesPerSecond rate = outer.rate;
      if (several_tiers) {
        rate = BytesPerSecond(std::min(inner.rate.base(), outer.rate.base() * place.inside));
      }
      transfer = cost.bytes / rate;
      break;
    }
    case Collective::all_to_all: {
      const Bytes payload = Bytes(std::max(
          static_cast<double>(tensors[op.in.front().index()].bytes(binding)),
          static_cast<double>(tensors[op.out.front().index()].bytes(binding))));
      const GroupPlace flat{.size = place.size, .tier = place.tier, .inside = place.size};
      const Split split =
          all_to_all_split(op, payload, place.tier == 0 ? flat : place, view.dispatcher);
      cost.bytes = Bytes(split.inner + split.outer);
      const Link within = place.tier == 0 ? outer : link(view, profile, place.tier - 1, kind);
      transfer = std::max(Bytes(split.inner) / within.rate, Bytes(split.outer) / outer.rate);
      break;
    }
    case Collective::send_recv:
      cost.bytes = total(op.kind == OpKind::send ? op.in : op.out, tensors, binding);
      latency = outer.curve.latency + outer.curve.latency_per_rank;
      transfer = cost.bytes / outer.rate;
      break;
  }
  cost.time = (latency + transfer) * sharing_slowdown(view, profile);
  cost.source = std::max(outer.curve.source, inner.curve.source);
  return cost;
}

}  // namespace pleat
