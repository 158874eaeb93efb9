// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges in which every member sends as much, and messages between pipeline stages.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void all_gather(const Call&, Execution&);
void reduce_scatter(const Call&, Execution&);
void all_reduce(const Call&,
                Execution&);  // the whole tensor or the elements that the operation names
void all_to_all(const Call&, Execution&);  // and all_to_all_back
void send(const Call&, Execution&);
void recv(const Call&, Execution&);

}  // namespace pleat::execute
