// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Keys and values as they travel between context shards: the last columns of packed qkv, all of kv,
// or latent attention's kv with the rotary columns of kpe put into every head.
#pragma once

#include <cstdint>

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Between kv [S, n * (key + value)] with the rotary columns of kpe, and keys and values of `heads`
// heads from `first` on, [S, heads * (key + rope + value)].
struct WholeKeys {
  const OpAttributes& a;
  std::int64_t first, heads;

  void pack(KernelSet&, View kv, View kpe, View whole) const;
  void unpack(KernelSet&, View whole, View dkv, View dkpe) const;  // adds to dkpe's rotary columns

 private:
  [[nodiscard]] ColumnBlocks blocks(std::int64_t width, std::int64_t at_kv,
                                    std::int64_t at_whole) const;
};

// This rank's keys and values, the operation's operands, to a piece that travels; and their
// gradients from there to the operation's results.
void pack_piece(const Call&, KernelSet&, View piece);
void unpack_piece(const Call&, KernelSet&, View piece);

}  // namespace pleat::execute
