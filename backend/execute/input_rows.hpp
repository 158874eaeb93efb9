// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows that the host has: tokens, labels, and the counts of experts that are padded to their
// capacity. They go to the device at once, or by way of pinned memory from which a graph copies
// them: the host fills that anew before each run of the graph.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void load_tokens(const Call&, Execution&);
void load_labels(const Call&, Execution&);

// Writes an operation's rows into host memory.
void fill_tokens(const Call&, Execution&, View rows);
void fill_labels(const Call&, Execution&, View rows);
void fill_capacity(const Call&, Execution&, View rows);  // padded experts: each has attr.capacity

using Fill = void (*)(const Call&, Execution&, View rows);
// To the operation's result: from pinned memory, or filled here.
void upload(const Call&, Execution&, View to, Fill);

}  // namespace pleat::execute
