// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of tokens to the ranks that have their experts, and back. all_counts[rank, expert] tells
// every member how many rows go where; rows are in expert order on the sending side, so that those
// for one member are consecutive.
//
// What differs is what the program keeps of the way: rows of copies (exchange_rows), rows sorted by
// expert (exchange_sorted), or tokens alone (exchange_tokens). All send the same rows to the same
// ranks; what the program does not keep lies in scratch memory.
#pragma once

#include <cstdint>

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void gather_counts(const Call&, Execution&);

void exchange_rows(const Call&, Execution&);
void exchange_rows_back(const Call&, Execution&);
void exchange_sorted(const Call&, Execution&);
void exchange_sorted_back(const Call&, Execution&);

void gather_peer_rows(const Call&, Execution&);
void reduce_peer_rows(const Call&, Execution&);

// Sends rows, in fp8 where the operation says so.
void send_expert_rows(const Call&, Execution&, View from, View to, std::int64_t columns, bool back);

}  // namespace pleat::execute
