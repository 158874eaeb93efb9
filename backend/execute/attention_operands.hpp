// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where attention's queries, keys and values lie in the tensors of a program: as columns of each
// head.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/context_shard.hpp"
#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Of one kind of operand: values, or their gradients. A key has two parts where its rotary part
// lies in another tensor.
struct AttentionOperands {
  HeadColumns q[2], k[2], v;
};

// Packed qkv; or queries in it, and keys and values [k | v] of a piece of the keys.
[[nodiscard]] AttentionOperands packed_operands(const OpAttributes&, View qkv, View kv);
// Latent attention: keys without position and values of each head, the rotary part of all of them.
[[nodiscard]] AttentionOperands latent_operands(const OpAttributes&, View q, View kv, View kpe);
// The same where the rotary part was put into every head.
[[nodiscard]] AttentionOperands whole_key_operands(const OpAttributes&, View q, View kv);
[[nodiscard]] HeadColumns head_outputs(const OpAttributes&, View o);

// Attention piece by piece: how the keys of a rank's queries are divided with context parallelism,
// and which of them windows and documents hide.

struct AttentionPieces {
  AttentionPieces(const Call&, const Execution&);

  std::int64_t batch = 0, seq = 0, window = 0, chunk = 0;
  int pieces = 1, mine = 0, shared_heads = 1, ranks = 1;
  int first = 0, last = 1;              // pieces of this operation
  std::vector<std::int32_t> documents;  // of every sequence; empty: one each
  std::vector<std::int32_t> visible;    // of the piece looked at: a range for every query

  // Fills `visible` for the keys of a piece; false where no query sees any of them.
  bool look_at(int piece);
  [[nodiscard]] RowRange* rows() { return reinterpret_cast<RowRange*>(visible.data()); }
};

}  // namespace pleat::execute
