// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Strong integer ids: a Stage cannot be passed where a Rank is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace pleat {

template <class Tag>
struct Id {
  int value = 0;
  constexpr auto operator<=>(const Id&) const = default;
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using Rank = Id<struct RankTag>;              // global rank, 0 … world-1
using Stage = Id<struct StageTag>;            // pipeline rank, 0 … pp-1
using ChunkId = Id<struct ChunkTag>;          // model chunk of a stage, 0 … vpp-1
using MicroBatch = Id<struct MicroBatchTag>;  // microbatch of one step on one data-parallel rank
// position in the model, see program/chunk_program.hpp
using LayerIndex = Id<struct LayerIndexTag>;
using TensorId = Id<struct TensorTag>;        // index into the tensors of one program

}  // namespace pleat

template <class Tag>
struct std::hash<pleat::Id<Tag>> {
  std::size_t operator()(pleat::Id<Tag> id) const noexcept { return id.index(); }
};
