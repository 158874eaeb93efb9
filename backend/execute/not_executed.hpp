// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What train() refuses before the first step (supported.hpp): operations that are priced alone.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// Throws ExecutionError.
void not_executed(const Call&, Execution&);
// Priced, but made by another operation or by the interpreter itself: nothing is left to do.
void nothing_to_do(const Call&, Execution&);

}  // namespace pleat::execute
