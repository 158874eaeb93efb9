// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What surrounds each half of a layer: the residual connection, or hyper-connections (DeepSeek-V4),
// in which n copies of the stream are mixed into the half's input and its output is spread over
// them by weights computed from the streams.
#include "core/program/layer_builder.hpp"

namespace pleat {

Half open_half(LayerBuilder& b, const std::string& name, TensorId x) {
  const LocalShape& s = b.shape();
  const std::int64_t n = s.model.residual_streams;
  if (n == 1) return {x, x, {}};
  const std::int64_t outputs = n * n + 2 * n;
  const TensorId w = b.weight(name + "_hc", {{outputs}, {s.residual}}, Bucket::dense, true);
  const TensorId mix = b.gemm(name + "_hc", Module::residual, x, w, DType::fp32);
  const TensorId base = b.weight(name + "_hc.base", {{outputs + 3}}, Bucket::dense, true);
  const TensorId in =
      b.pointwise(name + "_hc.in", Module::residual, {x, mix, base}, {{s.T}, {s.model.hidden}});
  return {x, in, mix};
}

TensorId close_half(LayerBuilder& b, const std::string& name, const Half& half,
                    std::vector<TensorId> terms) {
  const LocalShape& s = b.shape();
  const std::int64_t h = s.model.hidden;
  if (s.model.norms_per_layer > 2) {
    if (terms.size() > 1) terms = {b.add(name + "_sum", terms)};
    terms = {b.rms_norm(name + "_post_norm", terms.front(), h)};
  }
  if (!half.mix) {
    terms.insert(terms.begin(), half.residual);
    return b.add(name + "_residual", terms);
  }
  std::vector<TensorId> in{half.residual, *half.mix};
  in.insert(in.end(), terms.begin(), terms.end());
  return b.pointwise(name + "_hc.out", Module::residual, in, {{s.T}, {s.residual}});
}

TensorId spread_streams(LayerBuilder& b, const std::string& name, TensorId x) {
  const LocalShape& s = b.shape();
  if (s.model.residual_streams == 1) return x;
  return b.pointwise(name, Module::residual, {x}, {{s.T}, {s.residual}});
}

TensorId join_streams(LayerBuilder& b, const std::string& name, TensorId x, std::int64_t rows,
                      bool learned) {
  const LocalShape& s = b.shape();
  const std::int64_t n = s.model.residual_streams;
  if (n == 1) return x;
  std::vector<TensorId> in{x};
  if (learned) {
    const TensorId w = b.weight(name, {{n}, {s.residual}}, Bucket::dense, true);
    in.push_back(b.gemm(name, Module::residual, x, w, DType::fp32));
    in.push_back(b.weight(name + ".base", {{n + 1}}, Bucket::dense, true));
  }
  return b.pointwise(name + ".sum", Module::residual, in, {{rows}, {s.model.hidden}});
}

}  // namespace pleat
