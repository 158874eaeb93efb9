// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The two ends of the model: tokens to rows of the table and learned positions, logits to losses.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void embedding(const Call&, Execution&);
void embedding_bwd(const Call&, Execution&);
void ce_stats(const Call&, Execution&);
void ce_loss(const Call&, Execution&);

}  // namespace pleat::execute
