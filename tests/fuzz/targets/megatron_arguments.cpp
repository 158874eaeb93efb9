// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Launch scripts with Megatron's arguments, read into a plan.
#include "core/plan/constraints.hpp"
#include "interop/flag_table.hpp"
#include "interop/megatron_command.hpp"
#include "interop/megatron_import.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  static const interop::FlagTable table = interop::load_flag_table();
  const auto words = interop::find_command({{"run.sh", std::string(input)}}, {}, 0, table).words;
  const interop::ReadArguments read = interop::read_arguments(words, table);
  const PlanDocument plan = interop::import_arguments(read.values, 64, "run.sh").document;
  (void)violations({plan.model, plan.workload, plan.plan, plan.gpus});
}

}  // namespace pleat::fuzz
