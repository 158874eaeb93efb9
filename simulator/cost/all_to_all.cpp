// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// All-to-all exchanges: NCCL's, which sends every copy, and those that send one copy a destination
// (docs/MODEL.md sections 5 and 6).
#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "simulator/cost/collective_links.hpp"

namespace pleat {
namespace {

// Bytes one rank puts on the inner (within a domain) and outer links.
struct Split {
  double inner = 0, outer = 0;
};

Split every_copy(double x, double n, double inside) {
  return {x * (inside - 1) / n, x * (n - inside) / n};
}

// One copy per destination node over the outer links, forwarded inside it to each rank.
Split one_copy(double x, const DispatchWork& work, double inside) {
  return {x * work.rank_copies * (inside - 1) / inside,
          x * work.node_copies * (work.nodes - 1) / work.nodes};
}

// An all-gather of tokens between nodes, among ranks of the same place in them, then every copy
// within the node (Pangu Ultra MoE, arXiv:2505.04519).
Split gather_then_copy(double x, double k, double nodes, double inside) {
  return {x * (inside - 1) / inside, x / k * (nodes - 1)};
}

DispatchWork dispatch_work(const Op& op, Bytes payload, Bytes row, int ranks, int inside, int sms) {
  const double k = static_cast<double>(op.attr.top_k);
  DispatchWork work{
      .payload = payload, .row = row, .ranks = ranks, .nodes = std::max(1, ranks / inside)};
  work.rank_copies = distinct_units(ranks, op.attr) / k;
  work.node_copies = distinct_units(work.nodes, op.attr) / k;
  work.combine = family_of(op.kind) == OpKind::all_to_all_back;
  work.sms = sms;
  return work;
}

}  // namespace

OpCost all_to_all_cost(const Op& op, Bytes payload, Bytes row, const GroupPlace& place,
                       const CollectiveLinks& links, const ClusterView& view,
                       const Profile& profile) {
  const int inside = place.tier == 0 ? place.size : place.inside;
  const DispatcherTraits dispatcher = traits_of(view.dispatcher);
  const auto kernel = dispatcher.fused;
  const bool deduplicates = kernel && op.attr.experts > 0 && op.attr.top_k > 0;
  OpCost cost;
  cost.source = std::max(links.outer.curve.source, links.inner.curve.source);
  Split split = every_copy(payload.base(), place.size, inside);
  if (deduplicates) {
    const int sms = view.dispatcher_sms > 0 ? view.dispatcher_sms : profile.*dispatcher.sms;
    const DispatchWork work = dispatch_work(op, payload, row, place.size, inside, sms);
    split = one_copy(payload.base(), work, inside);
    if (const auto price = dispatch_price(work, *kernel, profile)) {
      return {.time = price->time,
              .cls = cost.cls,
              .flops = {},
              .bytes = Bytes(split.inner + split.outer),
              .source = price->source};
    }
  }
  const bool two_steps = dispatcher.in_two_steps && op.group == Group::ep && place.tier > 0 &&
                         op.attr.top_k > 0;
  if (two_steps) {
    split = gather_then_copy(payload.base(), static_cast<double>(op.attr.top_k),
                             static_cast<double>(place.size) / inside, inside);
  }
  cost.bytes = Bytes(split.inner + split.outer);
  const Link& outer = links.outer;
  const Link within = place.tier == 0 ? outer : link(view, profile, place.tier - 1,
                                                     Collective::all_to_all);
  // Ring-like steps in the latency, as of the other collectives.
  const double n = place.size, domains = n / place.inside;
  cost.time = outer.curve.latency + outer.curve.latency_per_rank * (n - 1);
  if (links.several_tiers) {
    cost.time = outer.curve.latency + outer.curve.latency_per_rank * (domains - 1) +
                links.inner.curve.latency_per_rank * (n - domains);
  }
  const Bytes per_peer = payload / n;
  const double small = place.tier > 0 && per_peer > Bytes(0)
                           ? 1.0 + outer.curve.small_message / per_peer
                           : 1.0;
  const Seconds inner_time =
      Bytes(split.inner) / within.rate * slow_start(within.curve, payload);
  const Seconds outer_time = Bytes(split.outer) / outer.rate * (two_steps ? 1.0 : small);
  cost.time += two_steps ? inner_time + outer_time : std::max(inner_time, outer_time);
  if (deduplicates || place.tier > 0) return cost;
  if (const auto measured =
          measured_time(profile, Collective::all_to_all, place.size, payload)) {
    cost.time = measured->time;
    cost.source = measured->source;
  }
  return cost;
}

}  // namespace pleat
