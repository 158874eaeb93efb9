// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Loads of experts from a file: by layer and expert, as a training run wrote them down.
#pragma once

#include <string>
#include <vector>

#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat::interop {

// JSON or a line of JSON each. Read are
//   {"expert_loads": {"3": [812, 790, …], …}}     a log of `pleat train`, or a plan's workload
//   {"3": [812, 790, …], …}                       the same by itself
//   {"layer": 3, "loads": [812, 790, …]}          a layer a line
//   {"iter": 100, "block": "decoder", "layer": 3, "tpe": [[812, 790, …], …]}
//                                                 Megatron-LM's --save-tokens-per-expert-interval
// Of several steps the last counts; Megatron's rows, one a microbatch, are added up. Other lines
// are passed over. ConfigError (bad_file) with the path of what is wrong.
[[nodiscard]] std::vector<ExpertLoads> parse_expert_loads(const std::string& text,
                                                          const std::string& file_name,
                                                          const ModelSpec&);

}  // namespace pleat::interop
