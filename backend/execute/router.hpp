// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts: which experts each token goes to, the losses on its scores,
// and the load that moves the experts' biases.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void router_topk(const Call&, Execution&);
void router_topk_bwd(const Call&, Execution&);
void router_stats(const Call&, Execution&);
void router_losses(const Call&, Execution&);
void router_losses_bwd(const Call&, Execution&);
void count_load(const Call&, Execution&);
void update_bias(const Call&, Execution&);

}  // namespace pleat::execute
