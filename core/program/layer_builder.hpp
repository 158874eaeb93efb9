// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Builds a layer program by recording: each call appends a forward operation and remembers how to
// emit its backward operations. `finish` replays the record in reverse, like an autograd tape.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/program/layer_program.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Sizes of one rank's share, derived once from model, workload and plan.
struct LocalShape {
  LocalShape(const ModelSpec&, const WorkloadSpec&, const Plan&);
  const ModelSpec& model;
  const Plan& plan;
  std::int64_t seq = 0, batch = 0;   // tokens of a sequence, sequences of a microbatch
  std::int64_t S = 0;                // tokens of the microbatch on this context shard
  std::int64_t T = 0;                // S / tp under sequence parallelism, else S
  int tp = 1, cp = 1, ep = 1, etp = 1;
  bool sp = false;                   // tp > 1 and sequence parallelism
  DType act = DType::bf16;           // activations and weights
  DType grad = DType::fp32;          // main gradients
  double loss_scale = 1;             // 1 / tokens of the global batch
};

class LayerBuilder {
 public:
  LayerBuilder(LayerKind kind, const LocalShape& shape);
  [[nodiscard]] const LocalShape& shape() const { return shape_; }

  // --- tensors
  TensorId activation(const std::string& name, std::vector<Dim> dims, DType dtype);
  TensorId weight(const std::string& name, std::vector<Dim> dims, Bucket bucket,
                  bool replicated_over_tp = false, bool buffer = false);
  TensorId loss_accumulator();  // stands for StageProgram::loss
  TensorId set_input(std::vector<Dim> dims);  // "x"

  // --- recorded operations; each returns its output
  TensorId gemm(const std::string& name, Module, TensorId x, TensorId w, DType out);
  TensorId grouped_gemm(const std::string& name, Module, TensorId x, TensorId w, TensorId counts);
  TensorId rms_norm(const std::string& name, TensorId x, std::int64_t width);
  TensorId add(const std::string& name, std::vector<TensorId> terms);
  // Sequence-parallel gather before, and reduction after, a tensor-parallel region. No-ops at tp 1.
  // The gathered tensor is not saved: the backward gathers again, as Megatron does.
  TensorId gather_tokens(const std::string& name, Module, TensorId x);
  TensorId reduce_tokens(const std::string& name, Module, TensorId x);

  // --- generic recording
  Op& push(OpKind kind, const std::string& name, Module module, std::vector<TensorId> in,
           std::vector<TensorId> out);
  void on_backward(std::function<void()> emit) { tape_.push_back(std::move(emit)); }

  // --- during the replay
  Op& push_backward(OpKind kind, const std::string& name, Module module, Phase phase,
                    std::vector<TensorId> in, std::vector<TensorId> out);
  [[nodiscard]] bool has_gradient(TensorId of) const { return gradient_.contains(of); }
  [[nodiscard]] TensorId gradient(TensorId of) const;       // must exist
  TensorId new_gradient(TensorId of);                       // "d.<name>", same shape
  void set_gradient(TensorId of, TensorId gradient) { gradient_[of] = gradient; }
  // The gradient to accumulate into (second: true), or a new one to overwrite (second: false).
  std::pair<TensorId, bool> gradient_to_accumulate(TensorId of);
  [[nodiscard]] TensorId weight_gradient(TensorId weight) const;
  // What stands for `x` in the backward pass (re-gathered tensors); x itself by default.
  [[nodiscard]] TensorId in_backward(TensorId x);

  // Replays the record from the gradient of `output` (none: the head) and returns the program,
  // without lifetimes: passes come first.
  LayerProgram finish(std::optional<TensorId> output);

 private:
  TensorId add_tensor(Tensor t);

  LocalShape shape_;
  LayerProgram layer_;
  std::vector<std::function<void()>> tape_;
  std::map<TensorId, TensorId> gradient_;
  std::map<TensorId, std::function<TensorId()>> regather_;  // gathered -> emits the gather again
  std::map<TensorId, TensorId> regathered_;
  std::map<std::string, int> names_;
};

// "Blocks": each appends one sub-layer to a builder and returns its output.
TensorId build_gqa(LayerBuilder&, TensorId x);
TensorId build_mla(LayerBuilder&, TensorId x);
TensorId build_mlp(LayerBuilder&, TensorId x, TensorId residual);
TensorId build_moe(LayerBuilder&, TensorId x, TensorId residual);

// SwiGLU (u holds gate | up) or GELU, as the model says; u has `rows` rows, the result `width` columns.
TensorId record_activation(LayerBuilder&, const std::string& name, Module, TensorId u, Dim rows,
                           std::int64_t width);

// Whole layers.
LayerProgram build_embedding_layer(const LocalShape&);
LayerProgram build_decoder_layer(const LocalShape&, bool moe);
LayerProgram build_mtp_layer(const LocalShape&, bool moe);
LayerProgram build_head_layer(const LocalShape&, bool mtp);
LayerProgram build_recv_layer(const LocalShape&, std::int64_t rows_factor);
LayerProgram build_send_layer(const LocalShape&, std::int64_t rows_factor);

}  // namespace pleat
