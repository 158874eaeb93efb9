// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of gradients over ranks, which may travel in fewer bytes than they have
// (optimizer.grad_reduce): terms rounded to bf16, added up in fp32 in member order; so do the sums
// that all members get.
#pragma once

#include "backend/comm/communicator.hpp"
#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void sum_gradients(const Op&, Execution&, Communicator&, View all);  // all members get them
void sum_gradients(const Op&, Execution&, Communicator&, View all, View mine);  // each its share

}  // namespace pleat::execute
