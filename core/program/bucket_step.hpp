// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The operations of the optimizer's step on one bucket, in parts: the common way and state
// elsewhere (optimizer_step.cpp), LAMB (lamb_step.cpp), Muon (muon_step.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/program/step_state.hpp"

namespace pleat {

// The part of a bucket's shard that one kind of step works on, with its state.
struct BucketSegment {
  std::string suffix;  // of names: "", ".reloaded", ".host"
  std::int64_t elements = 0;
  TensorId main_params, exp_avg, exp_avg_sq;
  std::int64_t first = 0;  // of the shard
  std::optional<TensorId> exp_avg_scale = {}, exp_avg_sq_scale = {};
  bool on_host = false;
};

class OptimizerStep {
 public:
  OptimizerStep(StageProgram& stage, const ModelSpec& model, const Plan& plan, Runtime runtime,
                std::size_t bucket, TensorId scale)
      : stage_(stage), model_(model), plan_(plan), runtime_(runtime), index_(bucket), scale_(scale),
        name_(bucket_name(bucket)) {}

  void append();

 private:
  [[nodiscard]] const BucketState& bucket() const { return stage_.buckets[index_]; }

  Op& push(OpKind kind, const std::string& name, std::vector<TensorId> in,
           std::vector<TensorId> out) {
    stage_.epilogue.push_back(step_op(kind, name_ + name, Module::optimizer, std::move(in),
                                      std::move(out)));
    return stage_.epilogue.back();
  }

  // The segment's place between steps.
  void keep(const BucketSegment& s);
  [[nodiscard]] std::int64_t kept_elements() const {
    const std::vector<StateSegment>& all = bucket().segments;
    return all.empty() ? 0 : all.back().first + all.back().elements;
  }

  [[nodiscard]] int last_op() const { return static_cast<int>(stage_.epilogue.size()) - 1; }

  // State like the bucket's own, of `elements`, in device or host memory.
  BucketSegment add_segment(const std::string& suffix, std::int64_t elements, TensorClass cls);

  // (TransformerEngine has one for each parameter, which no shard has to know here.)
  void add_scales(BucketSegment& s, TensorClass cls);
  [[nodiscard]] std::vector<TensorId> state_of(const BucketSegment& s) const;
  void step(const BucketSegment& s);

  // LAMB's norms are of all parts of the state: what comes from host memory stays until they are
  // known.
  void step_whole_parameters(std::int64_t resident, std::int64_t reloaded);

  // The direction where the gradients were, norms of whole parameters, the step.
  void lamb(const std::vector<BucketSegment>& parts);
  void share_table_norms(TensorId norms);
  void cast(const BucketSegment& s);
  // In Pleat's own kernels AdamW writes the weights as it steps the main parameters.
  [[nodiscard]] bool rounds_weights(const BucketSegment& s) const;

  // Momentum in shards, put together where the gradients were; then one matrix after the other: its
  // parts from the tensor-parallel peers, the iterations, the step. A rank takes those that reach
  // into its shard; the operations are as many as any rank has, with the sizes of the one with most
  // work.
  void muon_of_parts(const BucketSegment& s);

  // `most`: the matrices of the shard with the most work, and where another has more of them,
  // those. Returns all.
  [[nodiscard]] std::vector<const MatrixPart*> busiest_shard(std::vector<const MatrixPart*>& most);

  // Momentum, whole matrices from the tensor-parallel peers, five Newton-Schulz iterations of those
  // this rank owns, and the step (mcore optimizer/muon.py, tensor-parallel mode duplicated).
  void muon(const BucketSegment& s);

  // The state is in host memory between steps.
  void step_with_reloaded_state(std::int64_t elements);
  [[nodiscard]] std::string reload_name(TensorId id) const {
    return stage_.state[id.index()].name.substr(name_.size()) + ".reload";
  }

  // Gradients to the host, its step, the new weights back. Overlapped, the host's work hides the
  // transfers or they hide it (mcore optimizer/cpu_offloading/hybrid_optimizer.py).
  void step_on_host(std::int64_t elements);

  StageProgram& stage_;
  const ModelSpec& model_;
  const Plan& plan_;
  Runtime runtime_;
  std::size_t index_;
  std::int64_t most_elements_ = 0;  // of a whole matrix, or of its parts
  TensorId scale_, host_gradients_;
  std::string name_;
};

}  // namespace pleat
