// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tokens of a microbatch lie on this rank, and where in their documents. A context shard has
// two pieces of every sequence (context_shard.hpp); documents are the workload's or those of the
// data.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Of every token of the microbatch, where its document begins; nothing where each sequence is one.
[[nodiscard]] std::vector<std::int32_t> document_starts(const OpSite&, const Execution&);
// Of this rank's tokens, their places in their documents; nothing where row r is position r % seq.
[[nodiscard]] std::vector<std::int32_t> token_positions(const OpSite&, const Execution&);
// Of the microbatch's tokens, sequence by sequence, the numbers of those that lie on this rank.
[[nodiscard]] std::vector<std::int32_t> own_tokens(const Call&, const Execution&);

}  // namespace pleat::execute
