// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products with their biases: dense ones, and those of the local experts.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void gemm(const Call&, Execution&);
void grouped_gemm(const Call&, Execution&);

}  // namespace pleat::execute
