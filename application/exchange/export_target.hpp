// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of frameworks as they are typed, and the facts about hardware that an export needs.
#pragma once

#include <string>
#include <vector>

#include "interop/exported.hpp"

namespace pleat {

// "megatron", "megatron-bridge", "torchtitan", "deepspeed".
[[nodiscard]] const std::vector<std::string>& target_names();
[[nodiscard]] interop::Target parse_target(const std::string& name);  // one of target_names()

// The plan of a file, its rules checked.
[[nodiscard]] PlanDocument load_plan_document(const std::string& file);

// Tensor cores with FP4 came with compute capability 10. True too for a cluster that is not known.
[[nodiscard]] bool is_before_blackwell(const std::string& cluster);

// "deepseek-v3 on 256 x gb300-nvl72: TP1 …", one line.
[[nodiscard]] std::string plan_title(const PlanDocument&);

}  // namespace pleat
