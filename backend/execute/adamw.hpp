// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// AdamW's step: on fp32 moments and main parameters; on moments in other types; on main parameters
// of which the weights are the upper half (remainder16).
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void adamw(const Call&, Execution&);

}  // namespace pleat::execute
