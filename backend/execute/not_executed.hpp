// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Entries of op_table for operations that do nothing here: those that are priced but have no
// executor (train() refuses such plans before the first step, supported.hpp), and those whose work
// is done elsewhere.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Throws ExecutionError.
void not_executed(const Call&, Execution&);
// Priced, but made by another operation or by the interpreter itself: nothing is left to do.
void nothing_to_do(const Call&, Execution&);

}  // namespace pleat::execute
