// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where attention's queries, keys and values lie in the tensors of a program: as columns of each
// head.
#pragma once

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

}  // namespace pleat::execute
