// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/amax_buffers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

constexpr const char* kPrefix = "W.amax.";

// "fc1" of "fc1", "fc1.dgrad" and "fc1.wgrad".
std::string name_of_product(const Op& product) {
  std::string name = product.name;
  for (const char* suffix : {".dgrad", ".wgrad"}) {
    if (name.ends_with(suffix)) name.erase(name.rfind('.'));
  }
  return name;
}

}  // namespace

AmaxPlaces amax_places(const BucketState& b) {
  const std::int64_t seen = b.buffer_elements - all_amax_elements(b.amax_elements);
  return {.seen = seen, .past = seen + b.amax_elements, .history = seen + 2 * b.amax_elements};
}

std::int64_t all_amax_elements(std::int64_t amax_elements) {
  return (2 + kAmaxSteps) * amax_elements;
}

TensorId add_amax(LayerProgram& layer, const Op& product, bool gradient, std::int64_t groups) {
  const std::string name = kPrefix + name_of_product(product) + (gradient ? ".gradient" : "");
  PLEAT_ASSERT(std::ranges::count(layer.tensors, name, &Tensor::name) == 0);
  Weight w;
  w.elements = groups;
  w.buffer = true;
  w.weight = w.gradient = TensorId{static_cast<int>(layer.tensors.size())};
  layer.tensors.push_back({name, TensorClass::weight, DType::fp32, {{groups}}});
  layer.weights.push_back(std::move(w));
  return layer.weights.back().weight;
}

bool is_amax(const LayerProgram& layer, const Weight& w) {
  return w.buffer && layer.tensor(w.weight).name.starts_with(kPrefix);
}

void add_amax_ops(StageProgram& stage, const Plan& plan) {
  const BucketState& b = stage.buckets[0];
  if (b.amax_elements == 0) return;
  const auto on_seen = [&](OpKind kind, const std::string& name, Group group = Group::none) {
    Op op = step_op(kind, name, Module::optimizer, {b.buffers}, {b.buffers}, group);
    op.attr.first = amax_places(b).seen;
    op.attr.n = {b.amax_elements};
    if (kind == OpKind::zero) op.in.clear();
    return op;
  };
  stage.prologue.push_back(on_seen(OpKind::past_amax, "past_amax"));
  stage.prologue.push_back(on_seen(OpKind::zero, "zero.amax"));
  for (const auto& [group, name] : {std::pair{Group::tp, "amax.tp"}, {Group::dp_cp, "amax.dp_cp"},
                                    {Group::copies, "amax.copies"}}) {
    if (group_size(plan, group) == 1) continue;
    stage.epilogue.push_back(on_seen(OpKind::all_reduce_amax, name, group));
  }
  stage.epilogue.push_back(on_seen(OpKind::keep_amax, "keep_amax"));
}

}  // namespace pleat
