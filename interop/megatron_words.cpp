// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Small questions and words that the Megatron-LM export asks and writes in several places.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {

void add(Exported& e, std::string name, std::vector<std::string> values) {
  e.settings.push_back({std::move(name), std::move(values)});
}

void add(Exported& e, std::string name, std::int64_t value) {
  add(e, std::move(name), std::vector<std::string>{std::to_string(value)});
}

void add(Exported& e, std::string name, double value) {
  add(e, std::move(name), std::vector<std::string>{fmt::format("{}", value)});
}

void miss(Exported& e, std::string field, std::string value, std::string text) {
  e.missing.push_back({std::move(field), std::move(value), std::move(text)});
}

bool is_moe(const ExportContext& c) { return c.model().moe.has_value(); }

// The flex dispatcher wants somebody to send to (core/transformer/moe/token_dispatcher.py:1836).
bool uses_flex(const ExportContext& c) {
  return is_moe(c) && is_fused(c.plan().dispatcher) && c.plan().expert.etp * c.plan().expert.ep > 1;
}

bool is_fsdp(const ExportContext& c) {
  return c.plan().sharding == Sharding::zero2 || c.plan().sharding == Sharding::zero3;
}

bool is_fp8(Precision p) {
  return p == Precision::fp8 || p == Precision::fp8_delayed || p == Precision::fp8_block ||
         p == Precision::mxfp8;
}

// Blockwise weights are gathered in bf16 (Megatron-Bridge's recipe says so too).
bool keeps_fp8_weights(const ExportContext& c) {
  return c.plan().fp8_params && is_fp8(c.plan().precision) &&
         c.plan().precision != Precision::fp8_block;
}

bool narrow_optimizer(const ExportContext& c) {
  const auto& o = c.plan().optimizer;
  // Gradients of an fp16 run are in fp16 unless it is told otherwise.
  const bool narrow_grads = o.main_grads != DType::fp32 && o.main_grads != DType::fp16;
  return narrow_grads || o.main_params != DType::fp32 || o.exp_avg != DType::fp32 ||
         o.exp_avg_sq != DType::fp32;
}

bool precision_aware(const ExportContext& c) {
  return narrow_optimizer(c) || c.plan().optimizer.cpu_offload > 0;
}

bool has_stash(const ExportContext& c) { return c.plan().paged_stash.buffer > 0; }

bool narrow_reduction(const ExportContext& c) {
  const auto& o = c.plan().optimizer;
  return o.grad_reduce && *o.grad_reduce != o.main_grads;
}

bool has_dense_layer(const ModelSpec& m) {
  return !m.moe || std::find(m.moe_layer.begin(), m.moe_layer.end(), false) != m.moe_layer.end();
}

bool splits_evenly(const ExportContext& c) {
  return c.model().layers % (std::int64_t{c.plan().attention.pp} * c.plan().vpp) == 0;
}

std::string pattern_text(const std::vector<int>& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && values[end] == values[i]) ++end;
    if (i > 0) text += "+";
    text += fmt::format("[{}]", values[i]);
    if (end - i > 1) text += fmt::format("*{}", end - i);
    i = end;
  }
  return text + ")";
}

std::string documents_text(const ExportContext& c) {
  return fmt::format("[{}]", fmt::join(c.workload().documents, ", "));
}

}  // namespace pleat::interop
