// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How far a rank has come, and where it is now, for those who watch it from other threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "core/ids.hpp"
#include "core/program/op.hpp"

namespace pleat {

struct RankProgress {
  std::atomic<std::int64_t> finished = 0;    // operations, and meetings between steps
  std::atomic<const Op*> running = nullptr;  // null: between steps
  std::atomic<int> step = -1, microbatch = -1, layer = -1;
};

// "waits in 'combine' (all_to_all_back over ep), layer 2, microbatch 0, step 3"; an operation that
// exchanges nothing "computes".
[[nodiscard]] std::string where_text(const RankProgress&);

struct RankWhere {
  Rank rank;
  std::string where;
};
// "rank 0-2, 5 waits in …; rank 3 computes …": ranks in one place together.
[[nodiscard]] std::string where_all(std::span<const RankWhere>);
// "0-2, 5": ascending, without repeats.
[[nodiscard]] std::string rank_list(std::span<const Rank>);

}  // namespace pleat
