// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The table from kinds of operations to what executes them. Everything that the interpreter has to
// know of a kind is an entry here: it calls it, and knows nothing of what it does.
#pragma once

#include "backend/execute/call.hpp"
#include "backend/execute/input_rows.hpp"

namespace pleat::execute {

struct OpEntry {
  // Gives the device what the operation does, or does it.
  void (*run)(const Call&, Execution&);
  // Tells the host what it has to know of the results before the next operation: counts of rows.
  // None: nothing.
  void (*learn)(const Call&, Execution&) = nullptr;
  // Whether it waits for the device: then the operation ends its graph.
  bool (*learn_waits)(const Op&, const Execution&) = nullptr;
  // The result whose rows the host has and the device gets in every step anew. None: no result.
  View (*hosts_rows)(const Call&) = nullptr;
  Fill fill = nullptr;  // writes those rows
  // May a graph of the device repeat it? Only what is kernels with nothing beside operands and
  // attributes, and copies of the host's rows. None: never.
  bool (*repeats)(const Op&, const Execution&) = nullptr;
};

[[nodiscard]] const OpEntry& entry_of(OpKind);

}  // namespace pleat::execute
