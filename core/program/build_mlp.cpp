// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense MLP: norm, fc1 (gate and up packed), activation, fc2, residual.
#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

// SwiGLU and GELU have kernels; what else a model names is priced as element-wise work.
bool has_kernel(const ModelSpec& m) {
  if (m.activation == Activation::clamped_swiglu) return true;  // that of SwiGLU, with clamps
  return m.activation == (m.gated_mlp ? Activation::silu : Activation::gelu);
}

}  // namespace

Elementwise activation_function(const ModelSpec& m) {
  switch (m.activation) {
    case Activation::gelu: return m.gated_mlp ? Elementwise::gated_gelu : Elementwise::gelu;
    case Activation::squared_relu:
      return m.gated_mlp ? Elementwise::gated_relu_squared : Elementwise::relu_squared;
    case Activation::clamped_swiglu: return Elementwise::clamped_swiglu;
    case Activation::silu: return Elementwise::none;
  }
  return Elementwise::none;
}

TensorId record_activation(LayerBuilder& b, const std::string& name, Module module, TensorId u,
                           Dim rows, std::int64_t width) {
  const ModelSpec& m = b.shape().model;
  if (!has_kernel(m)) {
    return b.pointwise(name, module, {u}, {rows, {width}}, {}, activation_function(m));
  }
  const bool gated = m.gated_mlp;
  const TensorId a = b.activation(name, {rows, {width}}, b.shape().act);
  const Elementwise function =
      m.activation == Activation::clamped_swiglu ? activation_function(m) : Elementwise::none;
  b.push(gated ? OpKind::swiglu : OpKind::gelu, name, module, {u}, {a}).attr.function = function;
  b.on_backward([=, &b] {
    const TensorId da = b.gradient(a);
    const TensorId du = b.new_gradient(u);
    b.push_backward(gated ? OpKind::swiglu_bwd : OpKind::gelu_bwd, name + ".bwd", module,
                    Phase::backward, {da, u}, {du})
        .attr.function = function;
  });
  return a;
}

TensorId build_mlp(LayerBuilder& b, TensorId x) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const std::int64_t f = m.ffn / s.tp, f1 = m.gated_mlp ? 2 * f : f;
  const Half half = open_half(b, "mlp", x);
  const TensorId normed = b.rms_norm("mlp_norm", half.in, m.hidden);
  const TensorId all = b.gather_tokens("mlp_norm.ag", Module::mlp, normed);
  LayerBuilder::GemmOptions first, second;
  const std::vector<Band> first_rows(m.gated_mlp ? 2 : 1, {m.ffn});  // gate, up
  const TensorId w1 = b.weight("fc1", {{f1}, {m.hidden}}, Bucket::dense);
  b.cut_rows(w1, first_rows);
  if (m.mlp_bias) {
    first.bias = b.weight("fc1.bias", {{f1}}, Bucket::dense);
    b.cut_rows(*first.bias, first_rows);
  }
  const TensorId u = b.gemm("fc1", Module::mlp, all, w1, s.act, first);
  const TensorId a = record_activation(b, "mlp_act", Module::mlp, u, {s.S}, f);
  const TensorId w2 = b.weight("fc2", {{m.hidden}, {f}}, Bucket::dense);
  b.cut_columns(w2, m.ffn);
  if (m.mlp_bias) {
    second.bias = b.weight("fc2.bias", {{m.hidden}}, Bucket::dense, true);
    second.bias_scale = 1.0 / s.tp;
    b.sum_over_tp(*second.bias);
  }
  const TensorId y = b.gemm("fc2", Module::mlp, a, w2, s.act, second);
  return close_half(b, "mlp", half, {b.reduce_tokens("fc2.rs", Module::mlp, y)});
}

}  // namespace pleat
