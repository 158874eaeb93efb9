// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What processes of a job tell each other over the mesh: the header on the wire, and what a message
// that has come means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "backend/comm/message_hub.hpp"
#include "backend/comm/rendezvous.hpp"
#include "backend/rank_progress.hpp"

namespace pleat {

enum class MeshKind : std::uint32_t { message = 1, beat, abort, ask, answer, bye };

struct MeshHeader {
  MeshKind kind = MeshKind::beat;
  std::int32_t from = 0, to = 0;  // ranks
  std::uint32_t reserved = 0;     // so that no byte is padding: the tags cover them all
  Label label;
  std::uint64_t bytes = 0;

  [[nodiscard]] std::optional<std::uint64_t> payload_bytes() const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
    return bytes <= kMost ? std::optional(bytes) : std::nullopt;
  }
};
static_assert(std::has_unique_object_representations_v<MeshHeader>);

struct FromRank {
  Envelope envelope;
  Message message;
};
struct SignOfLife {
  std::optional<std::int64_t> progress;  // operations that its ranks finished
};
struct JobAborted {
  std::string message;
};
struct AsksWhere {};
struct RanksAreAt {
  std::vector<RankWhere> where;
};
struct GoodBye {};
using MeshNews = std::variant<FromRank, SignOfLife, JobAborted, AsksWhere, RanksAreAt, GoodBye>;

// Of a message that `sender` has sent to the process with the ranks [first, first + count).
// nullopt: no process of the job sends that.
[[nodiscard]] std::optional<MeshNews> read_news(const MeshHeader&, Message payload,
                                                const RosterEntry& sender, Rank first, int count);

// "rank<tab>where" a line, as processes tell each other.
[[nodiscard]] std::string to_lines(const std::vector<RankWhere>&);
[[nodiscard]] std::vector<RankWhere> read_lines(
    const std::string& text);  // up to what is no such line

}  // namespace pleat
