// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LAMB's step: directions, norms of whole parameters from what each rank has of them, the step.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void lamb(const Call&, Execution&);
void lamb_norms(const Call&, Execution&);
void lamb_step(const Call&, Execution&);

}  // namespace pleat::execute
