// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that take tokens as they are: copies for the experts are made in scratch memory before
// what exchange_rows sends, and added up in scratch memory on the way back (DeepEP, HybridEP); or
// all ranks' tokens are gathered, and the local experts' picked (the all-gather dispatcher with
// tile-level overlap). The results are those of the exchanges and kernels apart. The links carry
// more than those libraries send.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void exchange_tokens(const Call&, Execution&);
void exchange_tokens_back(const Call&, Execution&);
void gather_picked_rows(const Call&, Execution&);
void reduce_picked_rows(const Call&, Execution&);

}  // namespace pleat::execute
