// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Models whose operands have whole blocks, and programs with the fusion of norms, SwiGLU and
// quantisation undone.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/program/passes/quantize_fusion.hpp"
#include "core/program/program.hpp"
#include "tests/support/small_models.hpp"

namespace pleat::test {

// Rows of whole blocks, also where two ranks share them.
inline ModelSpec in_blocks(ModelSpec m, std::int64_t block = 128) {
  m.hidden = block;
  m.ffn = m.moe->ffn = m.moe->shared_ffn = 2 * block;
  if (m.attention.q_lora_rank > 0) m.attention.q_lora_rank = block;
  return m;
}

inline std::set<std::string> fused_names(const std::vector<Op>& ops) {
  std::set<std::string> names;
  for (const Op& op : ops) {
    if (makes_codes(op)) names.insert(op.name);
  }
  return names;
}

inline int fused_ops(const Program& program) {
  std::size_t count = 0;
  for (const StageProgram& stage : program.stages) {
    for (const LayerProgram& layer : stage.layers) {
      count += fused_names(layer.forward).size() + fused_names(layer.backward).size();
    }
  }
  return static_cast<int>(count);
}

inline Program taken_apart(Program program) {
  for (StageProgram& stage : program.stages) {
    for (SharedLayer& shared : stage.layers) {
      LayerProgram& layer = shared.own();
      for (auto* ops : {&layer.forward, &layer.backward}) {
        std::vector<Op> all;
        int before_cut = 0;
        for (std::size_t i = 0; i < ops->size(); ++i) {
          const Op& op = (*ops)[i];
          const std::vector<Op> parts = makes_codes(op) ? taken_apart(op) : std::vector<Op>{op};
          all.insert(all.end(), parts.begin(), parts.end());
          const bool cut_after = layer.weight_ops && static_cast<int>(i) < *layer.weight_ops;
          if (cut_after) before_cut += static_cast<int>(parts.size()) - 1;
        }
        if (ops == &layer.backward && layer.weight_ops) *layer.weight_ops += before_cut;
        *ops = std::move(all);
      }
      compute_lifetimes(layer);
    }
  }
  return program;
}

}  // namespace pleat::test
