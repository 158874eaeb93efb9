// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/placed_weights.hpp"

#include "core/program/amax_buffers.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

std::vector<Copies> copies_in(const LayerProgram& layer, const Weight& w, const Plan& plan) {
  if (w.replicated) {
    return {{0, w.elements, w.bucket == Bucket::expert ? plan.expert.etp : plan.attention.tp}};
  }
  if (w.bucket == Bucket::expert) return {};
  const std::int64_t rows = layer.tensor(w.weight).shape.front().n;
  return copies_of(w.cut, rows, w.elements / rows);
}

// The list that has it.
std::vector<PlacedWeight>& list_of(const LayerProgram& layer, const Weight& w,
                                   PlacedWeights& placed) {
  if (!w.buffer) return placed.parameters[class_of(w)];
  if (is_amax(layer, w)) return placed.amax;
  return is_load(layer, w) ? placed.loads : placed.biases;
}

PlacedWeights placed_weights(const LayerProgram& layer, const Plan& plan, bool narrow) {
  PlacedWeights placed;
  placed.count = layer.weights.size();
  const std::vector<bool> narrow_read =
      narrow ? read_narrow(layer) : std::vector<bool>(layer.weights.size());
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    const Weight& w = layer.weights[i];
    list_of(layer, w, placed)
        .push_back({.weight = i,
                    .bucket = bucket_of(layer, w, plan),
                    .elements = w.elements,
                    .table = is_table(layer, w),
                    .narrow = narrow_read[i]});
    if (w.buffer) continue;
    for (const Copies& c : copies_in(layer, w, plan)) placed.copies.push_back({i, c});
  }
  return placed;
}

}  // namespace

std::size_t bucket_of(const LayerProgram& layer, const Weight& w, const Plan& plan) {
  const auto base = static_cast<std::size_t>(w.bucket);
  return plan.optimizer.kind == OptimizerKind::muon && is_muon_matrix(layer, w) ? base + 2 : base;
}

std::vector<bool> read_narrow(const LayerProgram& layer) {
  std::vector<bool> of_tensor(layer.tensors.size());
  for (const Pass pass : {Pass::forward, Pass::backward}) {  // that of a loss in parts alone
    for (const Op& op : layer.ops(pass)) {
      const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
      const bool narrow = op.attr.math != DType::fp32 && op.attr.math != DType::bf16;
      if (product && narrow && op.in.size() > 1) of_tensor[op.in[1].index()] = true;
    }
  }
  std::vector<bool> read;
  read.reserve(layer.weights.size());
  for (const Weight& w : layer.weights) read.push_back(of_tensor[w.weight.index()]);
  return read;
}

std::vector<PlacedWeights> weights_of(const StageProgram& stage, const Plan& plan,
                                      bool narrow) {
  std::vector<PlacedWeights> all;
  all.reserve(stage.layers.size());
  for (const LayerProgram& layer : stage.layers) {
    all.push_back(placed_weights(layer, plan, narrow));
  }
  return all;
}

}  // namespace pleat
