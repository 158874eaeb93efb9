// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Independent check of a layer program: what it says about tensors must be consistent.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/program/layer_program.hpp"

namespace pleat::test {

// Empty if: every activation is written before it is read, lives cover every use and no more, op
// names are unique, and every weight with a gradient gets exactly one weight-gradient operation.
inline std::vector<std::string> problems_of(const LayerProgram& layer) {
  std::vector<std::string> problems;
  std::set<TensorId> written;
  if (layer.input) written.insert(*layer.input);
  std::set<std::string> names;
  std::vector<int> gradient_writes(layer.tensors.size(), 0);
  for (Pass pass : {Pass::forward, Pass::backward}) {
    if (pass == Pass::backward && layer.grad_output) written.insert(*layer.grad_output);
    const auto& ops = layer.ops(pass);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      const Point here{pass, static_cast<int>(i)};
      if (!names.insert(op.name).second) problems.push_back("two operations named " + op.name);
      for (TensorId t : op.in) {
        if (layer.tensor(t).cls == TensorClass::activation && !written.contains(t)) {
          problems.push_back(op.name + " reads " + layer.tensor(t).name + " before it is written");
        }
      }
      if (op.attr.accumulate && layer.tensor(op.out[0]).cls == TensorClass::activation &&
          !written.contains(op.out[0])) {
        problems.push_back(op.name + " accumulates into unwritten " + layer.tensor(op.out[0]).name);
      }
      for (TensorId t : op.out) {
        written.insert(t);
        if (layer.tensor(t).cls == TensorClass::gradient) ++gradient_writes[t.index()];
      }
      for (const auto* list : {&op.in, &op.out}) {
        for (TensorId t : *list) {
          if (layer.tensor(t).cls != TensorClass::activation) continue;
          bool covered = false;
          for (const Lifetime& life : layer.lives) {
            if (life.tensor == t && (!life.begin || *life.begin <= here) &&
                (!life.end || here <= *life.end)) {
              covered = true;
            }
          }
          if (!covered) problems.push_back(op.name + " uses dead " + layer.tensor(t).name);
        }
      }
    }
  }
  for (const Weight& w : layer.weights) {
    if (!w.buffer && gradient_writes[w.gradient.index()] != 1) {
      problems.push_back(layer.tensor(w.weight).name + " has " +
                         std::to_string(gradient_writes[w.gradient.index()]) + " gradient writes");
    }
  }
  return problems;
}

}  // namespace pleat::test
