// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges whose operand is the tokens themselves, not their copies for the experts:
//   DeepEP, HybridEP             copies are made in scratch memory, sent as exchange_rows does, and
//                                on the way back added up in scratch memory
//   all-gather with tile overlap all ranks' tokens are gathered, those of the local experts picked
// The results are the same as of separate copies and exchanges. More bytes travel than these
// libraries would send.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void exchange_tokens(const Call&, Execution&);
void exchange_tokens_back(const Call&, Execution&);
void gather_picked_rows(const Call&, Execution&);
void reduce_picked_rows(const Call&, Execution&);

}  // namespace pleat::execute
