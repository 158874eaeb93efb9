// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/not_executed.hpp"

#include <fmt/format.h>

#include "backend/execute/execution.hpp"
#include "backend/runtime/execution_error.hpp"

namespace pleat::execute {

void not_executed(const Call& c, Execution&) {
  throw ExecutionError(
      fmt::format("operation '{}': this backend has no {}", c.op.name, name_of(c.op.kind)));
}

void nothing_to_do(const Call&, Execution&) {}

}  // namespace pleat::execute
