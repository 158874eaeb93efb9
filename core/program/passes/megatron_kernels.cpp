// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron's kernels of the expert activation: how often they move its operands.
#include "core/program/layer_builder.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

// - Experts with biases (gpt-oss: clamped, quick GELU): a chain of kernels, two clamps, scale,
//   sigmoid, two products, the shift, the probability in fp32 and back: 44 B an element of f, 90 B
//   backward; one fused kernel moves 6 and 10 B. Then the bias of fc2 expert by expert in fp32, 28
//   and 25 B. One graph for the iteration cannot split by expert: a fused activation, the biases as
//   passes of their own (fc1's 8 and 4 B): the count of three that fits the published runs best.
// - One graph for the iteration in MXFP8 or NVFP4: the grouped products of the cuteDSL kernels
//   apply the activation and convert its result (fc1 forward, fc2 backward).
Passes activation_passes(const ModelSpec& model, const Plan& plan) {
  const bool one_graph = plan.cuda_graph == CudaGraph::full_iteration;
  const bool narrow = plan.precision == Precision::mxfp8 || plan.precision == Precision::nvfp4;
  if (model.moe->mlp_bias) {
    return one_graph ? Passes{42.0 / 6, 39.0 / 10} : Passes{72.0 / 6, 115.0 / 10};
  }
  return one_graph && narrow ? Passes{0, 0} : Passes{};
}

}  // namespace

void set_megatron_kernels(LayerProgram& layer, const ModelSpec& model, const Plan& plan) {
  if (!model.moe) return;
  const Passes passes = activation_passes(model, plan);
  for (auto* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      if (op.module != Module::moe_act) continue;
      op.attr.passes = op.phase == Phase::forward ? passes.forward : passes.backward;
    }
  }
}

}  // namespace pleat
