// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a layer that keeps all its activations can save at most by recompute and offload, and what
// recompute costs at least: for the bounds of a search, which so need not compile every set of
// modules.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

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

// Saved tensors that the same choices may drop or send away.
struct SavedBytes {
  std::uint32_t parts = 0;    // a bit for each SavingPart: if it runs again they may be dropped;
                              // in LayerSavings::kept they are saved only then
  std::uint32_t offload = 0;  // a bit for each Offload that sends them away
  std::int64_t bytes = 0;
};

// One layer of one microbatch. Sums over parts hold for sets of them: no set saves more or costs
// less.
struct LayerSavings {
  std::array<Seconds, kSavingParts> again{};  // arithmetic and memory-bound work
  std::vector<SavedBytes> saved;              // what no choice touches is left out
  // Inputs that a part reads when it runs again, and that no part makes.
  std::vector<SavedBytes> kept;
  Seconds all_again;           // `again` of the whole layer
  std::int64_t all_saves = 0;  // recomputed as a whole: all but its output
  std::int64_t whole = 0;      // offloaded as a whole
  // To copy so many bytes to host memory, or back.
  [[nodiscard]] Seconds copy_time(double bytes) const { return Seconds(bytes * per_byte); }
  double per_byte = 0;  // seconds; 0 where the copies take the place of other work
};

// Of a layer that recomputes and offloads nothing.
[[nodiscard]] LayerSavings savings_of(const LayerProgram&, Runtime, const Binding&,
                                      const ClusterView&, const Profile&);

}  // namespace pleat
