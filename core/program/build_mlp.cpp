// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense MLP: norm, fc1 (gate and up packed), SwiGLU or GELU, fc2, residual.
#include "core/program/layer_builder.hpp"

namespace pleat {

TensorId record_activation(LayerBuilder& b, const std::string& name, Module module, TensorId u,
                           Dim rows, std::int64_t width) {
  const bool gated = b.shape().model.gated_mlp;
  const TensorId a = b.activation(name, {rows, {width}}, b.shape().act);
  b.push(gated ? OpKind::swiglu : OpKind::gelu, name, module, {u}, {a});
  b.on_backward([=, &b] {
    const TensorId da = b.gradient(a);
    const TensorId du = b.new_gradient(u);
    b.push_backward(gated ? OpKind::swiglu_bwd : OpKind::gelu_bwd, name + ".bwd", module,
                    Phase::backward, {da, u}, {du});
  });
  return a;
}

TensorId build_mlp(LayerBuilder& b, TensorId x, TensorId residual) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const std::int64_t f = m.ffn / s.tp;
  const TensorId normed = b.rms_norm("mlp_norm", x, m.hidden);
  const TensorId all = b.gather_tokens("mlp_norm.ag", Module::mlp, normed);
  const TensorId w1 = b.weight("fc1", {{m.gated_mlp ? 2 * f : f}, {m.hidden}}, Bucket::dense);
  const TensorId u = b.gemm("fc1", Module::mlp, all, w1, s.act);
  const TensorId a = record_activation(b, "mlp_act", Module::mlp, u, {s.S}, f);
  const TensorId w2 = b.weight("fc2", {{m.hidden}, {f}}, Bucket::dense);
  const TensorId y = b.gemm("fc2", Module::mlp, a, w2, s.act);
  const TensorId reduced = b.reduce_tokens("fc2.rs", Module::mlp, y);
  return b.add("mlp_residual", {residual, reduced});
}

}  // namespace pleat
