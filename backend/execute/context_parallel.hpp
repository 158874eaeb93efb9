// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism around the attention core: keys and values of other ranks, and heads
// exchanged against sequence.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void split_heads(const Call&, Execution&);
void join_heads(const Call&, Execution&);
void order_tokens(const Call&, Execution&);
void order_ranks(const Call&, Execution&);

void pack_keys(const Call&, Execution&);
void unpack_keys(const Call&, Execution&);
void gather_keys(const Call&, Execution&);
void reduce_key_gradients(const Call&, Execution&);
void ring_shift(const Call&, Execution&);

}  // namespace pleat::execute
