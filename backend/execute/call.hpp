// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One operation with its operands resolved to memory: what every executor of an operation gets. The
// operands stand in the order that core/program/op.hpp gives at the operation's kind.
#pragma once

#include <span>

#include "core/program/step_walk.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::execute {

struct Call {
  const Op& op;
  const OpSite* site;  // where the operation is in the layers; null at step level
  std::span<const View> in, out;
  View staged = {};  // the host's rows (op_table.hpp), where they are in pinned memory already
};

// An operand that an operation may do without: no data where it does.
[[nodiscard]] inline View optional_operand(std::span<const View> operands, std::size_t index) {
  return index < operands.size() ? operands[index] : View{};
}

// The layer that the first result belongs to.
[[nodiscard]] inline LayerIndex layer_of_result(const Call& c) {
  return layer_of(*c.site, c.site->program->tensor(c.op.out[0]));
}

}  // namespace pleat::execute
