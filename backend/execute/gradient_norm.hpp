// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The norm of all gradients and the factor that clips them. A norm that is not finite skips the
// step, on all ranks: all see the same norm.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void grad_norm(const Call&, Execution&);  // this rank's part of the squared norm
void clip(const Call&, Execution&);

}  // namespace pleat::execute
