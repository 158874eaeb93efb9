// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The recording builder: tensors, gradients and the operations that every block shares.
#include "core/program/layer_builder.hpp"

#include <algorithm>
#include <cmath>

#include "core/program/losses.hpp"

namespace pleat {

std::vector<Dim> norm_dims(const ModelSpec& m, std::int64_t width) {
  if (m.norm == NormKind::layer_norm) return {{2}, {width}};
  return {{width}};
}

namespace {

// Of normally distributed work, the largest of n ranks': sigma sqrt(2 ln n) above the mean. Ranks of
// an expert group wait for each other in every layer, the others at the end of the step.
double slowest_rank(const ModelSpec& m, const WorkloadSpec& w, const Plan& p, double variation) {
  const auto above = [](double sigma, double ranks) {
    return ranks > 1 ? 1.0 + sigma * std::sqrt(2.0 * std::log(ranks)) : 1.0;
  };
  const double sigma = variation / std::sqrt(static_cast<double>(p.micro_batch));
  const double together =
      m.moe ? std::clamp<double>(static_cast<double>(p.expert.ep) * p.expert.etp /
                                     (static_cast<double>(p.attention.tp) * p.attention.cp),
                                 1.0, p.attention.dp)
            : 1.0;
  const double microbatches =
      static_cast<double>(std::max<std::int64_t>(1, p.microbatches(w.global_batch)));
  return above(sigma, together) * above(sigma / std::sqrt(microbatches), p.attention.dp / together);
}

}  // namespace

LocalShape::LocalShape(const ModelSpec& m, const WorkloadSpec& w, const Plan& p)
    : model(m), plan(p), seq(w.seq_len), batch(p.micro_batch), tp(p.attention.tp),
      cp(p.attention.cp), ep(p.expert.ep), etp(p.expert.etp) {
  sp = tp > 1 && p.sequence_parallel;
  S = seq * batch / cp;
  T = sp ? S / tp : S;
  act = p.precision == Precision::fp32 ? DType::fp32 : DType::bf16;
  grad = p.optimizer.main_grads;
  residual = m.hidden * m.residual_streams;
  loss_scale = 1.0 / (static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len));
  if (m.moe && w.capacity_factor > 0) {  // mcore moe_utils.py get_capacity
    const double mean = static_cast<double>(T * m.moe->top_k) / static_cast<double>(m.moe->experts);
    capacity = static_cast<std::int64_t>(std::ceil(mean * w.capacity_factor));
    padded = w.pad_to_capacity;
  }
  global_batch = w.global_batch;
  if (w.documents.empty()) return;
  const Packing packing = packing_of(w, cp);
  packed = packing.mean_length;
  slowest = slowest_rank(m, w, p, packing.variation);
}

LayerBuilder::LayerBuilder(LayerKind kind, const LocalShape& shape) : shape_(shape) {
  layer_.kind = kind;
  layer_.forward.reserve(64);  // a decoder layer
  layer_.backward.reserve(128);
  layer_.tensors.reserve(256);
  tape_.reserve(64);
}

TensorId LayerBuilder::add_tensor(Tensor t) {
  if (const int n = names_[t.name]++; n > 0) t.name += "." + std::to_string(n + 1);
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

void LayerBuilder::cut_columns(TensorId weight, std::int64_t whole) { cut(weight, true, {{whole}}); }

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
  op.in = std::move(in);
  op.out = std::move(out);
  layer_.backward.push_back(std::move(op));
  return layer_.backward.back();
}

TensorId LayerBuilder::gradient(TensorId of) const {
  const auto found = gradient_.find(of);
  PLEAT_ASSERT(found != gradient_.end());
  return found->second;
}

TensorId LayerBuilder::new_gradient(TensorId of) {
  Tensor t = layer_.tensor(of);
  t.name = "d." + t.name;
  const TensorId id = add_tensor(std::move(t));
  gradient_[of] = id;
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

TensorId LayerBuilder::gemm(const std::string& name, Module module, TensorId x, TensorId w,
                            DType out, const GemmOptions& options) {
  const Dim m = options.rows.value_or(layer_.tensor(x).shape.front());
  const Dim n = layer_.tensor(w).shape.front();
  const Dim k = layer_.tensor(w).shape.back();
  const TensorId y = activation(name, {m, n}, out);
  Op& op = push(OpKind::gemm, name, module, {x, w}, {y});
  op.attr.m = m, op.attr.n = n, op.attr.k = k;
  op.attr.transpose_b = true;
  op.attr.math = shape_.act;
  if (options.bias) {
    op.in.push_back(*options.bias);
    op.attr.bias_scale = options.bias_scale;
  }
  on_backward([=, this, bias = options.bias, bias_scale = options.bias_scale] {
    const TensorId dy = gradient(y);
    const auto [dx, accumulate] = gradient_to_accumulate(x);
    Op& dgrad = push_backward(OpKind::gemm, name + ".dgrad", module, Phase::backward, {dy, w}, {dx});
    dgrad.attr.m = m, dgrad.attr.n = k, dgrad.attr.k = n;
    dgrad.attr.accumulate = accumulate;
    dgrad.attr.math = shape_.act;
    const TensorId x_again = in_backward(x);
    Op& wgrad = push_backward(OpKind::gemm, name + ".wgrad", module, Phase::wgrad, {dy, x_again},
                              {weight_gradient(w)});
    wgrad.attr.m = n, wgrad.attr.n = k, wgrad.attr.k = m;
    wgrad.attr.transpose_a = true;
    wgrad.attr.accumulate = true;
    wgrad.attr.math = shape_.act;
    if (bias) {
      wgrad.out.push_back(weight_gradient(*bias));
      wgrad.attr.bias_scale = bias_scale;
    }
  });
  return y;
}

TensorId LayerBuilder::grouped_gemm(const std::string& name, Module module, TensorId x, TensorId w,
                                    TensorId counts, const GroupedBias& added) {
  const Dim m = layer_.tensor(x).shape.front();
  const std::vector<Dim> dims = layer_.tensor(w).shape;  // [El, n, k]
  const Dim n = dims[1];
  const Dim k = dims[2];
  const std::int64_t groups = dims[0].n;
  const TensorId y = activation(name, {m, n}, shape_.act);
  auto shape = [=, this](Op& op, Dim mm, Dim nn, Dim kk) {
    op.attr.m = mm, op.attr.n = nn, op.attr.k = kk;
    op.attr.local_experts = groups;
    op.attr.math = shape_.act;
    op.attr.bias_scale = added.scale;
  };
  Op& op = push(OpKind::grouped_gemm, name, module, {x, w, counts}, {y});
  shape(op, m, n, k);
  op.attr.transpose_b = true;
  if (added.bias) op.in.push_back(*added.bias);
  if (added.bias && added.probs) op.in.push_back(*added.probs);
  on_backward([=, this] {
    const TensorId dy = gradient(y);
    const TensorId dx = new_gradient(x);
    Op& dgrad = push_backward(OpKind::grouped_gemm, name + ".dgrad", module, Phase::backward,
                              {dy, w, counts}, {dx});
    shape(dgrad, m, k, n);
    if (added.bias && added.probs) {
      dgrad.in.push_back(*added.bias);
      dgrad.out.push_back(new_gradient(*added.probs));
    }
    Op& wgrad = push_backward(OpKind::grouped_gemm, name + ".wgrad", module, Phase::wgrad,
                              {dy, x, counts}, {weight_gradient(w)});
    shape(wgrad, n, k, m);
    wgrad.attr.transpose_a = true;
    wgrad.attr.accumulate = true;
    if (!added.bias) return;
    wgrad.out.push_back(weight_gradient(*added.bias));
    if (added.probs) wgrad.in.push_back(*added.probs);
  });
  return y;
}

TensorId LayerBuilder::rms_norm(const std::string& name, TensorId x, std::int64_t width,
                                bool of_heads) {
  const Dim rows = layer_.tensor(x).shape.front();
  const TensorId w = weight(name, norm_dims(shape_.model, width), Bucket::dense, true);
  if (of_heads) sum_over_tp(w);
  const TensorId y = activation(name, layer_.tensor(x).shape, shape_.act);
  const TensorId rstd = activation(name + ".rstd", {rows}, DType::fp32);
  push(OpKind::rms_norm, name, Module::layernorm, {x, w}, {y, rstd}).attr.eps =
      shape_.model.norm_eps;
  on_backward([=, this] {
    const TensorId dy = gradient(y);
    std::vector<TensorId> in{dy, x, w, rstd};
    if (has_gradient(x)) in.push_back(gradient(x));  // residual branch, added in the kernel
    const TensorId dx = new_gradient(x);
    push_backward(OpKind::rms_norm_bwd, name + ".bwd", Module::layernorm, Phase::backward,
                  std::move(in), {dx, weight_gradient(w)});
  });
  return y;
}

std::vector<TensorId> LayerBuilder::gradients_of(std::vector<TensorId>& read,
                                                 const std::vector<TensorId>& of) {
  std::vector<TensorId> written;
  for (TensorId t : of) {
    const Tensor& tensor = layer_.tensor(t);
    if (tensor.cls == TensorClass::weight) {
      written.push_back(weight_gradient(t));
    } else if (tensor.dtype != DType::i32) {
      if (has_gradient(t)) read.push_back(gradient(t));  // added in the kernel
      written.push_back(new_gradient(t));
    }
  }
  return written;
}

TensorId LayerBuilder::pointwise(const std::string& name, Module module, std::vector<TensorId> in,
                                 std::vector<Dim> dims, const Passes& passes,
                                 Elementwise function) {
  const TensorId y = activation(name, std::move(dims), shape_.act);
  Op& op = push(OpKind::pointwise, name, module, in, {y});
  op.attr.passes = passes.forward;
  op.attr.function = function;
  on_backward([=, this] {
    std::vector<TensorId> read{gradient(y)};
    read.insert(read.end(), in.begin(), in.end());
    const std::vector<TensorId> written = gradients_of(read, in);
    Op& back =
        push_backward(OpKind::pointwise_bwd, name + ".bwd", module, Phase::backward, read, written);
    back.attr.passes = passes.backward;
    back.attr.function = function;
  });
  return y;
}

TensorId LayerBuilder::token_mixing(const std::string& name, Module module,
                                    std::vector<TensorId> in, std::vector<Dim> dims,
                                    double forward_flops, double backward_flops) {
  const TensorId y = activation(name, std::move(dims), shape_.act);
  push(OpKind::token_mixing, name, module, in, {y}).attr.flops = forward_flops;
  on_backward([=, this] {
    std::vector<TensorId> read{gradient(y)};
    read.insert(read.end(), in.begin(), in.end());
    read.push_back(y);
    const std::vector<TensorId> written = gradients_of(read, in);
    push_backward(OpKind::token_mixing_bwd, name + ".bwd", module, Phase::backward, read, written)
        .attr.flops = backward_flops;
  });
  return y;
}

TensorId LayerBuilder::add(const std::string& name, std::vector<TensorId> terms) {
  const TensorId y = activation(name, layer_.tensor(terms.front()).shape, shape_.act);
  push(OpKind::add, name, Module::residual, terms, {y});
  on_backward([=, this] {
    for (TensorId term : terms) set_gradient(term, gradient(y));  // shared, read-only
  });
  return y;
}

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
    push_backward(OpKind::all_gather, name + ".again", module, Phase::backward, {x}, {again}).group =
        Group::tp;
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

LayerProgram LayerBuilder::finish(std::optional<TensorId> output) {
  layer_.output = output;
  if (output) layer_.grad_output = new_gradient(*output);
  for (auto emit = tape_.rbegin(); emit != tape_.rend(); ++emit) (*emit)();
  if (layer_.input) layer_.grad_input = gradient(*layer_.input);
  tape_.clear();
  return std::move(layer_);
}

}  // namespace pleat
