// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words of a plan's choices, in files and on the command line. A choice without a word is a
// warning of the compiler, and how many there are follows.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

[[nodiscard]] constexpr std::string_view word_of(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
    case Precision::fp8_delayed: return "fp8_delayed";
    case Precision::fp8_block: return "fp8_block";
    case Precision::mxfp8: return "mxfp8";
    case Precision::nvfp4: return "nvfp4";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(Sharding s) {
  switch (s) {
    case Sharding::none: return "none";
    case Sharding::zero1: return "zero1";
    case Sharding::zero2: return "zero2";
    case Sharding::zero3: return "zero3";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(Dispatcher d) {
  return traits_of(d).word;
}
[[nodiscard]] constexpr std::string_view word_of(CudaGraph g) {
  switch (g) {
    case CudaGraph::none: return "none";
    case CudaGraph::attention: return "attention";
    case CudaGraph::router: return "router";
    case CudaGraph::partial: return "partial";
    case CudaGraph::full_iteration: return "full_iteration";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(CpComm c) {
  switch (c) {
    case CpComm::p2p: return "p2p";
    case CpComm::all_gather: return "all_gather";
    case CpComm::all_to_all: return "all_to_all";
    case CpComm::a2a_p2p: return "a2a+p2p";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(PipelineSchedule s) {
  switch (s) {
    case PipelineSchedule::one_f_one_b: return "1f1b";
    case PipelineSchedule::zb_h1: return "zb-h1";
    case PipelineSchedule::zb_v: return "zb-v";
    case PipelineSchedule::dualpipe: return "dualpipe";
    case PipelineSchedule::dualpipe_v: return "dualpipe-v";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(OptimizerKind k) {
  switch (k) {
    case OptimizerKind::adamw: return "adamw";
    case OptimizerKind::lamb: return "lamb";
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::muon: return "muon";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(ExpertPlacement p) {
  switch (p) {
    case ExpertPlacement::in_order: return "in_order";
    case ExpertPlacement::by_load: return "by_load";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(Offload o) {
  switch (o) {
    case Offload::attn_norm: return "attn_norm";
    case Offload::qkv_linear: return "qkv_linear";
    case Offload::core_attn: return "core_attn";
    case Offload::attn_proj: return "attn_proj";
    case Offload::mlp_norm: return "mlp_norm";
    case Offload::expert_fc1: return "expert_fc1";
    case Offload::moe_act: return "moe_act";
  }
  return {};
}
[[nodiscard]] constexpr std::string_view word_of(Module m) {
  switch (m) {
    case Module::layernorm: return "layernorm";
    case Module::mla_up_proj: return "mla_up_proj";
    case Module::core_attn: return "core_attn";
    case Module::mlp: return "mlp";
    case Module::moe_act: return "moe_act";
    case Module::shared_experts: return "shared_experts";
    case Module::moe: return "moe";
    case Module::embedding: return "embedding";
    case Module::qkv: return "qkv";
    case Module::attn_proj: return "attn_proj";
    case Module::router: return "router";
    case Module::dispatch: return "dispatch";
    case Module::experts: return "experts";
    case Module::combine: return "combine";
    case Module::residual: return "residual";
    case Module::head: return "head";
    case Module::grad_sync: return "grad_sync";
    case Module::optimizer: return "optimizer";
    case Module::pipeline: return "pipeline";
  }
  return {};
}

// Choices of an enum, which are those with a word.
template <class Enum>
inline constexpr std::size_t kChoices = [] {
  std::size_t count = 0;
  while (!word_of(static_cast<Enum>(count)).empty()) ++count;
  return count;
}();

template <class Enum>
inline constexpr std::array kAll = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{static_cast<Enum>(I)...};
}(std::make_index_sequence<kChoices<Enum>>());

// Words of the first `count` choices, in order.
template <class Enum>
[[nodiscard]] std::vector<std::string> words_of(std::size_t count = kChoices<Enum>) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) words.emplace_back(word_of(static_cast<Enum>(i)));
  return words;
}

}  // namespace pleat
