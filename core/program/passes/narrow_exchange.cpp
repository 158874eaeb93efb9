// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Experts' rows that travel in fp8.
#include "core/plan/dispatcher_traits.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

constexpr double kNarrowShare = (1.0 + 4.0 / 128) / 2;  // fp8 and a scale for 128, of bf16
constexpr double kConversion = 1.5;  // reads 2 bytes and writes 1, or the other way round

bool computes_in_8_bits(Precision p) {
  return p == Precision::fp8 || p == Precision::fp8_delayed || p == Precision::fp8_block ||
         p == Precision::mxfp8;
}

// Rows of the experts' width, not probabilities or counts.
bool moves_rows(const LayerProgram& layer, const Op& op) {
  const bool exchange = op.module == Module::dispatch || op.module == Module::combine;
  return exchange && is_collective(op.kind) &&
         (op.group == Group::ep || op.group == Group::etp_ep) &&
         layer.tensor(op.in.front()).dtype == DType::bf16;
}

Op conversion(const Op& exchange, const char* suffix, TensorId rows) {
  Op op;
  op.kind = OpKind::wire_conversion;
  op.name = exchange.name + suffix;
  op.phase = exchange.phase;
  op.belongs_with(exchange);
  op.in = {rows};
  op.attr.passes = kConversion;
  return op;
}

}  // namespace

void apply_narrow_exchange(LayerProgram& layer, const Plan& plan) {
  if (!plan.fp8_dispatch && !plan.fp8_combine) return;
  for (std::vector<Op>* ops : {&layer.forward, &layer.backward}) {
    std::vector<Op> result;
    for (Op& op : *ops) {
      const OpKind family = family_of(op.kind);
      const bool to_experts = family == OpKind::all_to_all || family == OpKind::all_gather;
      if (!moves_rows(layer, op) || !(to_experts ? plan.fp8_dispatch : plan.fp8_combine)) {
        result.push_back(std::move(op));
        continue;
      }
      op.attr.wire = kNarrowShare;
      const Op exchange = op;
      const bool eight_bits = computes_in_8_bits(plan.precision);
      if (!to_experts || !eight_bits) {
        result.push_back(conversion(exchange, ".narrow", exchange.in.front()));
        if (to_experts && traits_of(plan.dispatcher).sends_copies) {
          result.back().attr.passes /= static_cast<double>(exchange.attr.top_k);
        }
      }
      result.push_back(std::move(op));
      if (to_experts && !eight_bits) {
        result.push_back(conversion(exchange, ".wide", exchange.out.front()));
      }
    }
    *ops = std::move(result);
  }
}

}  // namespace pleat
