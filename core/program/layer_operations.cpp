// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations that every block shares, each with its backward pass: products, norms, elementwise
// functions.
#include "core/program/layer_builder.hpp"

namespace pleat {

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
    Op& dgrad =
        push_backward(OpKind::gemm, name + ".dgrad", module, Phase::backward, {dy, w}, {dx});
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
  const bool shifts = shape_.model.norm == NormKind::layer_norm;
  const TensorId w = weight(name, norm_dims(shape_.model, width), Bucket::dense, true);
  if (of_heads) sum_over_tp(w);
  const TensorId y = activation(name, layer_.tensor(x).shape, shape_.act);
  const TensorId rstd = activation(name + ".rstd", {rows}, DType::fp32);
  push(shifts ? OpKind::layer_norm : OpKind::rms_norm, name, Module::layernorm, {x, w}, {y, rstd})
      .attr.eps = shape_.model.norm_eps;
  on_backward([=, this] {
    const TensorId dy = gradient(y);
    std::vector<TensorId> in{dy, x, w, rstd};
    if (has_gradient(x)) in.push_back(gradient(x));  // residual branch, added in the kernel
    const TensorId dx = new_gradient(x);
    push_backward(shifts ? OpKind::layer_norm_bwd : OpKind::rms_norm_bwd, name + ".bwd",
                  Module::layernorm, Phase::backward, std::move(in), {dx, weight_gradient(w)});
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
  return mix({OpKind::token_mixing, OpKind::token_mixing_bwd}, name, module, std::move(in),
             std::move(dims), forward_flops, backward_flops);
}

TensorId LayerBuilder::selected_attention(const std::string& name, Module module,
                                          std::vector<TensorId> in, std::vector<Dim> dims,
                                          double forward_flops, double backward_flops) {
  return mix({OpKind::selected_attention, OpKind::selected_attention_bwd}, name, module,
             std::move(in), std::move(dims), forward_flops, backward_flops);
}

TensorId LayerBuilder::mix(MixingKinds kinds, const std::string& name, Module module,
                           std::vector<TensorId> in, std::vector<Dim> dims, double forward_flops,
                           double backward_flops) {
  const TensorId y = activation(name, std::move(dims), shape_.act);
  push(kinds.forward, name, module, in, {y}).attr.flops = forward_flops;
  on_backward([=, this] {
    std::vector<TensorId> read{gradient(y)};
    read.insert(read.end(), in.begin(), in.end());
    read.push_back(y);
    const std::vector<TensorId> written = gradients_of(read, in);
    push_backward(kinds.backward, name + ".bwd", module, Phase::backward, read, written)
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

}  // namespace pleat
