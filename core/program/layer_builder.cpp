// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The recording builder: tensors, weights and gradients of a layer.
#include "core/program/layer_builder.hpp"

#include <algorithm>

#include "core/program/losses.hpp"

namespace pleat {

std::vector<Dim> norm_dims(const ModelSpec& m, std::int64_t width) {
  if (m.norm == NormKind::layer_norm) return {{2}, {width}};
  return {{width}};
}

namespace {

// Tensors of a layer, about.
std::size_t expected_tensors(LayerKind kind) {
  return kind == LayerKind::dense || kind == LayerKind::moe || kind == LayerKind::mtp ? 256 : 16;
}

}  // namespace

LayerBuilder::LayerBuilder(LayerKind kind, const LocalShape& shape)
    : shape_(shape), names_(expected_tensors(kind)) {
  layer_.kind = kind;
  const std::size_t tensors = expected_tensors(kind);
  layer_.forward.reserve(tensors / 4);
  layer_.backward.reserve(tensors / 2);
  layer_.tensors.reserve(tensors);
  tape_.reserve(tensors / 4);
}

TensorId LayerBuilder::add_tensor(Tensor t) {
  if (const int n = names_.count(t.name, layer_.tensors); n > 1) t.name += "." + std::to_string(n);
  layer_.tensors.push_back(std::move(t));
  return TensorId{static_cast<int>(layer_.tensors.size()) - 1};
}

TensorId LayerBuilder::activation(const std::string& name, std::vector<Dim> dims, DType dtype) {
  return add_tensor({name, TensorClass::activation, dtype, std::move(dims)});
}

TensorId LayerBuilder::weight(const std::string& name, std::vector<Dim> dims, Bucket bucket,
                              bool replicated, bool buffer) {
  std::int64_t elements = 1;
  for (const Dim& d : dims) elements *= d.n;
  const bool expert = bucket == Bucket::expert;  // members of etp have the same rows
  Weight w{.weight = {}, .gradient = {}, .bucket = bucket, .elements = elements,
           .replicated = replicated && (expert ? shape_.etp : shape_.tp) > 1,
           .summed_over_tp = replicated && !expert && shape_.sp, .buffer = buffer, .cut = {}};
  const DType dtype = buffer ? DType::fp32 : shape_.act;
  w.weight = add_tensor({"W." + name, TensorClass::weight, dtype, dims});
  w.gradient = buffer ? w.weight
                      : add_tensor({"G." + name, TensorClass::gradient, shape_.grad, dims});
  layer_.weights.push_back(w);
  return w.weight;
}

Weight& LayerBuilder::weight_of(TensorId weight) {
  const auto found = std::ranges::find(layer_.weights, weight, &Weight::weight);
  PLEAT_ASSERT(found != layer_.weights.end());
  return *found;
}

void LayerBuilder::cut(TensorId weight, bool columns, std::vector<Band> bands) {
  Weight& w = weight_of(weight);
  const int ranks = w.bucket == Bucket::expert ? shape_.etp : shape_.tp;
  if (ranks > 1) w.cut = {columns, ranks, std::move(bands)};
}

void LayerBuilder::cut_rows(TensorId weight, std::vector<Band> bands) {
  cut(weight, false, std::move(bands));
}

void LayerBuilder::cut_columns(TensorId weight, std::int64_t whole) {
  cut(weight, true, {{whole}});
}

void LayerBuilder::sum_over_tp(TensorId weight) {
  weight_of(weight).summed_over_tp = shape_.tp > 1;
}

TensorId LayerBuilder::loss_accumulator() {
  return add_tensor(
      {"loss", TensorClass::step_scratch, DType::fp32, {{loss_elements(shape_.model)}}});
}

TensorId LayerBuilder::set_input(std::vector<Dim> dims) {
  layer_.input = activation("x", std::move(dims), shape_.act);
  return *layer_.input;
}

Op& LayerBuilder::push(OpKind kind, const std::string& name, Module module,
                       std::vector<TensorId> in, std::vector<TensorId> out) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.module = module;
  op.of_attention = in_attention_;
  op.in = std::move(in);
  op.out = std::move(out);
  layer_.forward.push_back(std::move(op));
  return layer_.forward.back();
}

Op& LayerBuilder::push_backward(OpKind kind, const std::string& name, Module module, Phase phase,
                                std::vector<TensorId> in, std::vector<TensorId> out) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.phase = phase;
  op.module = module;
  op.of_attention = in_attention_;
  op.in = std::move(in);
  op.out = std::move(out);
  layer_.backward.push_back(std::move(op));
  return layer_.backward.back();
}

TensorId LayerBuilder::gradient(TensorId of) const {
  const std::optional<TensorId> found = gradient_.at(of);
  PLEAT_ASSERT(found.has_value());
  return *found;
}

TensorId LayerBuilder::new_gradient(TensorId of) {
  Tensor t = layer_.tensor(of);
  t.name = "d." + t.name;
  const TensorId id = add_tensor(std::move(t));
  gradient_.set(of, id);
  return id;
}

std::pair<TensorId, bool> LayerBuilder::gradient_to_accumulate(TensorId of) {
  if (has_gradient(of)) return {gradient(of), true};
  return {new_gradient(of), false};
}

TensorId LayerBuilder::weight_gradient(TensorId weight) { return weight_of(weight).gradient; }

TensorId LayerBuilder::in_backward(TensorId x) {
  const auto found = regather_.find(x);
  if (found == regather_.end()) return x;
  if (const auto done = regathered_.find(x); done != regathered_.end()) return done->second;
  const TensorId again = found->second();
  regathered_[x] = again;
  return again;
}

LayerProgram LayerBuilder::finish(std::optional<TensorId> output) {
  layer_.output = output;
  if (output) layer_.grad_output = new_gradient(*output);
  for (auto record = tape_.rbegin(); record != tape_.rend(); ++record) {
    in_attention_ = record->in_attention;
    record->emit();
  }
  if (layer_.input) layer_.grad_input = gradient(*layer_.input);
  tape_.clear();
  return std::move(layer_);
}

}  // namespace pleat
