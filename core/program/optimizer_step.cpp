// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/optimizer_step.hpp"

#include "core/program/bucket_step.hpp"

namespace pleat {

void OptimizerStep::append() {
  const std::int64_t host = bucket().host_elements, reloaded = bucket().reloaded_elements;
  const std::int64_t resident = bucket().shard_elements - host - reloaded;
  const bool lamb = plan_.optimizer.kind == OptimizerKind::lamb;
  if (lamb && runtime_ == Runtime::pleat) return step_whole_parameters(resident, reloaded);
  if (resident > 0) {
    BucketSegment s{"", resident, bucket().main_params, bucket().exp_avg, bucket().exp_avg_sq};
    add_scales(s, TensorClass::optimizer_state);
    keep(s);
    step(s);
  }
  if (reloaded > 0) step_with_reloaded_state(reloaded);
  if (host > 0) step_on_host(host);
}

void OptimizerStep::keep(const BucketSegment& s) {
  std::vector<StateSegment>& all = stage_.buckets[index_].segments;
  const std::int64_t first = all.empty() ? 0 : all.back().first + all.back().elements;
  all.push_back({first, s.elements, s.main_params, s.exp_avg, s.exp_avg_sq,
                 s.exp_avg_scale.value_or(TensorId{}), s.exp_avg_sq_scale.value_or(TensorId{}),
                 s.on_host, s.on_host ? host_gradients_ : TensorId{}});
}

BucketSegment OptimizerStep::add_segment(const std::string& suffix, std::int64_t elements,
                                         TensorClass cls) {
  const OptimizerPlan& o = plan_.optimizer;
  BucketSegment s{suffix, elements, bucket().weights, {}, {}};
  const auto add = [&](const char* what, DType type) {
    return add_state(stage_, name_ + suffix + what, cls, type, {{elements}});
  };
  if (bucket().has_main_params) s.main_params = add(".main_params", o.main_params);
  s.exp_avg = add(".exp_avg", o.exp_avg);
  if (bucket().has_second_moment) s.exp_avg_sq = add(".exp_avg_sq", o.exp_avg_sq);
  s.first = kept_elements();
  add_scales(s, cls);
  return s;
}

void OptimizerStep::add_scales(BucketSegment& s, TensorClass cls) {
  if (runtime_ != Runtime::pleat) return;
  const OptimizerPlan& o = plan_.optimizer;
  if (!scaled_moment(o.exp_avg) && !scaled_moment(o.exp_avg_sq)) return;
  const std::int64_t count = moment_scales(bucket(), s.first, s.elements);
  const auto add = [&](const char* what) {
    return add_state(stage_, name_ + s.suffix + what, cls, DType::fp32, {{count}});
  };
  if (scaled_moment(o.exp_avg)) s.exp_avg_scale = add(".exp_avg_scale");
  if (bucket().has_second_moment && scaled_moment(o.exp_avg_sq)) {
    s.exp_avg_sq_scale = add(".exp_avg_sq_scale");
  }
}

std::vector<TensorId> OptimizerStep::state_of(const BucketSegment& s) const {
  std::vector<TensorId> ids;
  if (bucket().has_main_params) ids.push_back(s.main_params);
  ids.push_back(s.exp_avg);
  if (bucket().has_second_moment) ids.push_back(s.exp_avg_sq);
  for (const auto& scale : {s.exp_avg_scale, s.exp_avg_sq_scale}) {
    if (scale) ids.push_back(*scale);
  }
  return ids;
}

void OptimizerStep::step(const BucketSegment& s) {
  if (of_matrices(index_)) return runtime_ == Runtime::pleat ? muon_of_parts(s) : muon(s);
  const TensorId gradients = s.on_host ? host_gradients_ : bucket().gradients;
  const bool adam = bucket().has_second_moment;
  std::vector<TensorId> in{gradients, s.exp_avg}, out{s.exp_avg};
  if (adam) {
    in.push_back(s.exp_avg_sq);
    out.push_back(s.exp_avg_sq);
  }
  in.push_back(s.main_params);
  in.push_back(scale_);
  out.push_back(s.main_params);
  const bool halves = plan_.optimizer.main_params == DType::remainder16;
  if (halves) in.push_back(bucket().weights);  // the upper half is the weight itself
  if (halves || rounds_weights(s)) out.push_back(bucket().weights);
  for (const auto& factor : {s.exp_avg_scale, s.exp_avg_sq_scale}) {
    if (!factor) continue;
    in.push_back(*factor);
    out.push_back(*factor);
  }
  Op& op = push(adam ? OpKind::adamw : OpKind::momentum, s.suffix + (adam ? ".adamw" : ".sgd"),
                std::move(in), std::move(out));
  op.attr.first = s.first;
  op.attr.n = {s.elements};
  op.on_host = s.on_host;
  if (plan_.optimizer.kind == OptimizerKind::lamb) {
    // Norms of every parameter and of its step, for the trust ratio.
    push(OpKind::copy, s.suffix + ".trust_ratio", {s.main_params, s.exp_avg}, {}).attr.n =
        {s.elements};
  }
  if (!s.on_host && !rounds_weights(s)) cast(s);
}

bool OptimizerStep::rounds_weights(const BucketSegment& s) const {
  return runtime_ == Runtime::pleat && bucket().has_second_moment && bucket().has_main_params &&
         !s.on_host && plan_.optimizer.main_params != DType::remainder16;
}

void OptimizerStep::cast(const BucketSegment& s) {
  if (!bucket().has_main_params || plan_.optimizer.main_params == DType::remainder16) return;
  Op& op = push(OpKind::cast_weights, s.suffix + ".cast", {s.main_params}, {bucket().weights});
  op.attr.first = s.first;
  op.attr.n = {s.elements};
}

void OptimizerStep::step_with_reloaded_state(std::int64_t elements) {
  const BucketSegment s = add_segment(".reloaded", elements, TensorClass::optimizer_state);
  const BucketSegment kept = add_segment(".kept_on_host", elements, TensorClass::host_state);
  keep(kept);
  const std::vector<TensorId> here = state_of(s), there = state_of(kept);
  const int first = last_op() + 1;
  for (std::size_t i = 0; i < here.size(); ++i) {
    push(OpKind::reload_state, reload_name(here[i]), {there[i]}, {here[i]});
  }
  step(s);
  for (std::size_t i = 0; i < here.size(); ++i) {
    push(OpKind::offload_state, reload_name(here[i]) + ".back", {here[i]}, {there[i]});
  }
  for (TensorId id : here) stage_.step_lives.push_back({id, first, last_op()});
}

void OptimizerStep::step_on_host(std::int64_t elements) {
  host_gradients_ = add_state(stage_, name_ + ".host.gradients", TensorClass::host_state,
                              plan_.optimizer.main_grads, {{elements}});
  BucketSegment s = add_segment(".host", elements, TensorClass::host_state);
  s.on_host = true;
  // In the pleat dialect as the weights are; fp32 ones are the main parameters.
  const DType type = runtime_ == Runtime::pleat ? stage_.state[bucket().weights.index()].dtype
                                                : DType::bf16;
  const TensorId weights = add_state(stage_, name_ + ".host.weights", TensorClass::host_state,
                                     type, {{elements}});
  if (!bucket().has_main_params) s.main_params = weights;
  keep(s);
  const Stream stream = plan_.optimizer.cpu_offload_overlapped ? Stream::copy : Stream::compute;
  Op& out =
      push(OpKind::offload_gradients, ".host.gradients", {bucket().gradients}, {host_gradients_});
  out.stream = stream;
  out.attr.first = s.first;
  out.attr.n = {elements};
  step(s);
  if (bucket().has_main_params && runtime_ == Runtime::pleat) {
    push(OpKind::copy, ".host.cast", {s.main_params}, {weights}).on_host = true;
  }
  Op& back = push(OpKind::reload_weights, ".host.weights", {weights}, {bucket().weights});
  back.stream = stream;
  back.attr.first = s.first;
  back.attr.n = {elements};
}

void add_optimizer_step(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                        Runtime runtime, std::size_t bucket, TensorId scale) {
  OptimizerStep(stage, model, plan, runtime, bucket, scale).append();
}

}  // namespace pleat
