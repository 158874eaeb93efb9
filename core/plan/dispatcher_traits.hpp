// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What each way of exchanging tokens with the experts' ranks is, in one table. Rules, passes, costs
// and exports ask it; only the program and the price of an exchange itself are elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/plan/plan.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/software.hpp"

namespace pleat {

// fp8: kernels for GPUs since Hopper.
enum class DispatcherNeeds : std::uint8_t { nothing, fp8 };

struct DispatcherTraits {
  std::string_view word = {};
  // One kernel that sorts, sends and copies, a token once to each destination: priced by the
  // profile's rates of it. Without one, collectives of NCCL, with their SMs, their overlap and the
  // further uncertainty of exchanges by it.
  std::optional<DispatchKernel> fused = {};
  // Every rank gathers the tokens of all and computes its own experts' (no exchange of copies).
  bool gathers_tokens = false;
  // Rows are copied before they are sent, once for each of the top k.
  bool sends_copies = false;
  // All-gather between network domains, then all-to-all within them.
  bool in_two_steps = false;
  // SMs that its exchange holds while other kernels run, where Plan::dispatcher_sms says nothing.
  // NCCL's are not the plan's to choose.
  int RunConstants::*sms = &RunConstants::nccl_sms;
  // Experts' tokens may be padded to their capacity.
  bool pads_to_capacity = false;
  // Hides behind the compute of another microbatch, or of the shared expert.
  bool overlaps = false;
  // Kernels that exchange tile by tile inside the grouped products take its place.
  bool has_tile_kernels = false;
  DispatcherNeeds needs = DispatcherNeeds::nothing;
  std::optional<Software> library = {};  // that a GPU's software may lack
  // Megatron-LM has it (core/transformer/transformer_config.py:891). A search for that runtime
  // takes others only where they are asked for, and no export writes them.
  bool in_megatron = true;
};

[[nodiscard]] constexpr DispatcherTraits traits_of(Dispatcher d) {
  switch (d) {
    case Dispatcher::allgather:
      return {.word = "allgather",
              .gathers_tokens = true,
              .pads_to_capacity = true,
              .has_tile_kernels = true};
    case Dispatcher::alltoall:
      return {.word = "alltoall",
              .sends_copies = true,
              .pads_to_capacity = true,
              .overlaps = true,
              .has_tile_kernels = true};
    case Dispatcher::deepep:
      return {.word = "deepep",
              .fused = DispatchKernel::deepep,
              .sms = &RunConstants::deepep_sms,
              .overlaps = true,
              .needs = DispatcherNeeds::fp8,
              .library = Software::deepep};
    case Dispatcher::hybridep:
      return {.word = "hybridep",
              .fused = DispatchKernel::hybridep,
              .sms = &RunConstants::hybridep_sms,
              .pads_to_capacity = true,
              .overlaps = true,
              .needs = DispatcherNeeds::fp8,
              .library = Software::hybridep};
    case Dispatcher::hierarchical:
      return {.word = "hierarchical",
              .sends_copies = true,
              .in_two_steps = true,
              .pads_to_capacity = true,
              .overlaps = true,
              .in_megatron = false};
  }
  return {};  // none: without a word
}
[[nodiscard]] constexpr bool is_fused(Dispatcher d) { return traits_of(d).fused.has_value(); }

}  // namespace pleat
