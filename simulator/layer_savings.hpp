// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a layer that keeps all its activations can save at most by recompute and offload, and what
// recompute costs at least: for the bounds of a search, which so need not compile every set of
// modules.
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "core/program/layer_program.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

// Recompute by parts that do not overlap: Module::moe is made of three of them.
enum class SavingPart : std::uint8_t {
  layernorm, mla_up_proj, core_attn, mlp, moe_act, shared_experts, rest_of_moe
};
inline constexpr std::size_t kSavingParts = 7;

// A bit for each part that runs again if these modules are recomputed.
[[nodiscard]] std::uint32_t parts_of(const std::set<Module>&);

// One layer of one microbatch. Sums over parts hold for sets of them: no set saves more or costs
// less.
struct LayerSavings {
  std::array<Seconds, kSavingParts> again{};       // arithmetic and memory-bound work
  std::array<std::int64_t, kSavingParts> saves{};  // bytes
  Seconds all_again;            // the same of the whole layer
  std::int64_t all_saves = 0;   // recomputed as a whole: all but its output
  std::int64_t whole = 0;       // offloaded as a whole
  std::array<std::int64_t, kOffloads.size()> offloads{};  // bytes, by Offload
};

// Of a layer that recomputes and offloads nothing.
[[nodiscard]] LayerSavings savings_of(const LayerProgram&, Runtime, const Binding&,
                                      const ClusterView&, const Profile&);

}  // namespace pleat
