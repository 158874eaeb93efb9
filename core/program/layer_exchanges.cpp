// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges of tokens between the ranks of tensor parallelism, each with its backward pass.
#include "core/program/layer_builder.hpp"

namespace pleat {

TensorId LayerBuilder::gather_tokens(const std::string& name, Module module, TensorId x) {
  if (shape_.tp == 1) return x;
  if (!shape_.sp) {  // every rank holds all tokens: the backward sums the partial gradients
    on_backward([=, this] {
      const TensorId dx = gradient(x);
      push_backward(OpKind::all_reduce, name + ".ar", module, Phase::backward, {dx}, {dx}).group =
          Group::tp;
    });
    return x;
  }
  std::vector<Dim> dims = layer_.tensor(x).shape;
  dims.front().n *= shape_.tp;
  const DType dtype = layer_.tensor(x).dtype;
  const TensorId y = activation(name, dims, dtype);
  push(OpKind::all_gather, name, module, {x}, {y}).group = Group::tp;
  regather_[y] = [=, this] {
    const TensorId again = activation(name + ".again", dims, dtype);
    push_backward(OpKind::all_gather, name + ".again", module, Phase::backward, {x}, {again})
        .group = Group::tp;
    return again;
  };
  on_backward([=, this] {
    const TensorId dy = gradient(y);
    const auto [dx, accumulate] = gradient_to_accumulate(x);
    Op& scatter =
        push_backward(OpKind::reduce_scatter, name + ".rs", module, Phase::backward, {dy}, {dx});
    scatter.group = Group::tp;
    scatter.attr.accumulate = accumulate;
  });
  return y;
}

TensorId LayerBuilder::reduce_tokens(const std::string& name, Module module, TensorId x) {
  if (shape_.tp == 1) return x;
  if (!shape_.sp) {
    push(OpKind::all_reduce, name, module, {x}, {x}).group = Group::tp;
    return x;
  }
  std::vector<Dim> dims = layer_.tensor(x).shape;
  dims.front().n /= shape_.tp;
  const TensorId y = activation(name, dims, layer_.tensor(x).dtype);
  push(OpKind::reduce_scatter, name, module, {x}, {y}).group = Group::tp;
  on_backward([=, this] {
    const TensorId dy = gradient(y);
    const TensorId dx = new_gradient(x);
    push_backward(OpKind::all_gather, name + ".ag", module, Phase::backward, {dy}, {dx}).group =
        Group::tp;
  });
  return y;
}

}  // namespace pleat
