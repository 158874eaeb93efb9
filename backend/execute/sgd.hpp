// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// SGD's step with momentum.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void momentum(const Call&, Execution&);

}  // namespace pleat::execute
