// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/optimizer_step.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "core/program/bucket_sync.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// The part of a bucket's shard that one kind of step works on, with its state.
struct Segment {
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

  void append() {
    const std::int64_t host = bucket().host_elements, reloaded = bucket().reloaded_elements;
    const std::int64_t resident = bucket().shard_elements - host - reloaded;
    const bool lamb = plan_.optimizer.kind == OptimizerKind::lamb;
    if (lamb && runtime_ == Runtime::pleat) return step_whole_parameters(resident, reloaded);
    if (resident > 0) {
      Segment s{"", resident, bucket().main_params, bucket().exp_avg, bucket().exp_avg_sq};
      add_scales(s, TensorClass::optimizer_state);
      keep(s);
      step(s);
    }
    if (reloaded > 0) step_with_reloaded_state(reloaded);
    if (host > 0) step_on_host(host);
  }

 private:
  [[nodiscard]] const BucketState& bucket() const { return stage_.buckets[index_]; }

  Op& push(OpKind kind, const std::string& name, std::vector<TensorId> in,
           std::vector<TensorId> out) {
    stage_.epilogue.push_back(step_op(kind, name_ + name, Module::optimizer, std::move(in),
                                      std::move(out)));
    return stage_.epilogue.back();
  }

  // The segment's place between steps.
  void keep(const Segment& s) {
    std::vector<StateSegment>& all = stage_.buckets[index_].segments;
    const std::int64_t first = all.empty() ? 0 : all.back().first + all.back().elements;
    all.push_back({first, s.elements, s.main_params, s.exp_avg, s.exp_avg_sq,
                   s.exp_avg_scale.value_or(TensorId{}), s.exp_avg_sq_scale.value_or(TensorId{}),
                   s.on_host, s.on_host ? host_gradients_ : TensorId{}});
  }
  [[nodiscard]] std::int64_t kept_elements() const {
    const std::vector<StateSegment>& all = bucket().segments;
    return all.empty() ? 0 : all.back().first + all.back().elements;
  }

  [[nodiscard]] int last_op() const { return static_cast<int>(stage_.epilogue.size()) - 1; }

  // State like the bucket's own, of `elements`, in device or host memory.
  Segment add_segment(const std::string& suffix, std::int64_t elements, TensorClass cls) {
    const OptimizerPlan& o = plan_.optimizer;
    Segment s{suffix, elements, bucket().weights, {}, {}};
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

  // (TransformerEngine has one for each parameter, which no shard has to know here.)
  void add_scales(Segment& s, TensorClass cls) {
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

  [[nodiscard]] std::vector<TensorId> state_of(const Segment& s) const {
    std::vector<TensorId> ids;
    if (bucket().has_main_params) ids.push_back(s.main_params);
    ids.push_back(s.exp_avg);
    if (bucket().has_second_moment) ids.push_back(s.exp_avg_sq);
    for (const auto& scale : {s.exp_avg_scale, s.exp_avg_sq_scale}) {
      if (scale) ids.push_back(*scale);
    }
    return ids;
  }

  void step(const Segment& s) {
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
    if (plan_.optimizer.main_params == DType::remainder16) {  // the upper half is the weight itself
      in.push_back(bucket().weights);
      out.push_back(bucket().weights);
    }
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
    if (!s.on_host) cast(s);
  }

  // LAMB's norms are of all parts of the state: what comes from host memory stays until they are known.
  void step_whole_parameters(std::int64_t resident, std::int64_t reloaded) {
    std::vector<Segment> parts;
    if (resident > 0) {
      parts.push_back({"", resident, bucket().main_params, bucket().exp_avg, bucket().exp_avg_sq});
      keep(parts.back());
    }
    const int first = last_op() + 1;
    std::vector<TensorId> here, there;
    if (reloaded > 0) {
      parts.push_back(add_segment(".reloaded", reloaded, TensorClass::optimizer_state));
      const Segment kept = add_segment(".kept_on_host", reloaded, TensorClass::host_state);
      keep(kept);
      here = state_of(parts.back()), there = state_of(kept);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      push(OpKind::reload, reload_name(here[i]), {there[i]}, {here[i]});
    }
    lamb(parts);
    for (std::size_t i = 0; i < here.size(); ++i) {
      push(OpKind::offload, reload_name(here[i]) + ".back", {here[i]}, {there[i]});
    }
    for (TensorId id : here) stage_.step_lives.push_back({id, first, last_op()});
  }

  // The direction where the gradients were, norms of whole parameters, the step.
  void lamb(const std::vector<Segment>& parts) {
    BucketState& b = stage_.buckets[index_];
    b.parameters = parameters_of(stage_, index_);
    const auto count = static_cast<std::int64_t>(b.parameters.size());
    const TensorId norms = add_state(stage_, name_ + ".norms", TensorClass::step_scratch,
                                     DType::fp32, {{2}, {count}});
    const auto on_part = [](Op& op, const Segment& s) {
      op.attr.first = s.first;
      op.attr.n = {s.elements};
    };
    std::vector<TensorId> measured{b.gradients};
    for (const Segment& s : parts) {
      on_part(push(OpKind::lamb, s.suffix + ".lamb",
                   {b.gradients, s.exp_avg, s.exp_avg_sq, s.main_params, scale_},
                   {s.exp_avg, s.exp_avg_sq, b.gradients}),
              s);
      if (measured.back() != s.main_params) measured.push_back(s.main_params);
    }
    push(OpKind::lamb_norms, ".norms", measured, {norms}).attr.n = {b.shard_elements};
    const int first = last_op();
    const bool experts = index_ % 2 == 1;
    const auto add_up = [&](const char* what, Group group) {
      if (group_size(plan_, group) == 1) return;
      push(OpKind::all_reduce, what, {norms}, {norms}).group = group;
    };
    if (plan_.sharding != Sharding::none) {
      add_up(".norms.shards", shard_groups(plan_, experts).shard);
      add_up(".norms.copies", Group::copies);
    }
    add_up(".norms.parts", experts ? Group::etp : Group::tp);
    for (const Segment& s : parts) {
      on_part(push(OpKind::lamb_step, s.suffix + ".apply", {b.gradients, s.main_params, norms},
                   {s.main_params}),
              s);
    }
    stage_.step_lives.push_back({norms, first, last_op()});
    for (const Segment& s : parts) cast(s);
  }

  void cast(const Segment& s) {
    if (!bucket().has_main_params || plan_.optimizer.main_params == DType::remainder16) return;
    Op& op = push(OpKind::copy, s.suffix + ".cast", {s.main_params}, {bucket().weights});
    op.attr.first = s.first;
    op.attr.n = {s.elements};
  }

  // Momentum in shards, put together where the gradients were; then one matrix after the other: its
  // parts from the tensor-parallel peers, the iterations, the step. A rank takes those that reach into
  // its shard; the operations are as many as any rank has, with the sizes of the one with most work.
  void muon_of_parts(const Segment& s) {
    stage_.buckets[index_].matrices = matrix_parts(stage_, model_, index_);
    const BucketState& b = bucket();
    const int split = index_ % 2 == 0 ? plan_.attention.tp : plan_.expert.etp;
    const Group peers = index_ % 2 == 0 ? Group::tp : Group::etp;
    push(OpKind::momentum, ".momentum", {b.gradients, s.exp_avg, scale_}, {s.exp_avg, b.gradients})
        .attr.n = {s.elements};
    BucketSync(plan_, b, index_, name_).gather(stage_.epilogue, b.gradients, ".momentum_gather");
    std::vector<const MatrixPart*> most;
    for (const MatrixPart* m : busiest_shard(most)) {
      const MatrixShape whole = whole_shape(*m);
      most_elements_ = std::max({most_elements_, whole.rows * whole.columns,
                                 split > 1 ? split * m->elements() : 0});
    }
    if (most.empty()) return cast(s);
    const TensorId workspace = add_state(stage_, name_ + ".workspace", TensorClass::step_scratch,
                                         DType::fp32, {{3}, {most_elements_}});
    stage_.buckets[index_].workspace = workspace;
    const int first = last_op() + 1;
    for (std::size_t i = 0; i < most.size(); ++i) {
      const std::string number = "." + std::to_string(i);
      const auto at = static_cast<std::int64_t>(i);
      const MatrixShape whole = whole_shape(*most[i]);
      if (split > 1) {
        Op& gather = push(OpKind::all_gather, ".gather_matrix" + number, {b.gradients}, {workspace});
        gather.group = peers;
        gather.attr.first = at;
        gather.attr.n = {split * most[i]->elements()};
      }
      Op& op = push(OpKind::newton_schulz, ".newton_schulz" + number,
                    {split > 1 ? workspace : b.gradients}, {workspace});
      op.attr.first = at;
      op.attr.m = {whole.rows};
      op.attr.n = {whole.columns};
      op.attr.experts = 1;
      op.attr.math = DType::bf16;
      Op& step = push(OpKind::step_matrix, ".apply" + number, {workspace, s.main_params},
                      {s.main_params});
      step.attr.first = at;
      step.attr.n = {std::min(most[i]->elements(), s.elements)};
    }
    stage_.step_lives.push_back({workspace, first, last_op()});
    cast(s);
  }

  // `most`: the matrices of the shard with the most work, and where another has more of them, those.
  // Returns all.
  std::vector<const MatrixPart*> busiest_shard(std::vector<const MatrixPart*>& most) {
    const BucketState& b = bucket();
    double most_work = -1;
    std::vector<std::vector<const MatrixPart*>> shards;
    std::size_t busiest = 0, longest = 0;
    for (int i = 0; i < b.shards; ++i) {
      shards.push_back(
          matrices_in(b.matrices, i * b.shard_elements, (i + 1) * b.shard_elements));
      double work = 0;
      for (const MatrixPart* m : shards.back()) work += iteration_work(whole_shape(*m));
      if (work > most_work) {
        most_work = work;
        busiest = shards.size() - 1;
      }
      if (shards.back().size() > shards[longest].size()) longest = shards.size() - 1;
    }
    most = shards[busiest];
    for (std::size_t i = most.size(); i < shards[longest].size(); ++i) {
      most.push_back(shards[longest][i]);
    }
    return matrices_in(b.matrices, 0, b.elements);
  }

  // Momentum, whole matrices from the tensor-parallel peers, five Newton-Schulz iterations of those
  // this rank owns, and the step (mcore optimizer/muon.py, tensor-parallel mode duplicated).
  void muon(const Segment& s) {
    push(OpKind::momentum, s.suffix + ".momentum", {bucket().gradients, s.exp_avg, scale_},
         {s.exp_avg})
        .attr.n = {s.elements};
    const int split = index_ % 2 == 0 ? plan_.attention.tp : plan_.expert.etp;
    if (split > 1) {
      Op& gather = push(OpKind::all_gather, ".gather_matrices", {s.exp_avg}, {s.exp_avg});
      gather.group = index_ % 2 == 0 ? Group::tp : Group::etp;
      gather.attr.n = {s.elements * split};
    }
    const std::vector<MatrixShape> owned = owned_matrices(stage_, model_, plan_, index_);
    std::int64_t largest = 0;
    for (const MatrixShape& m : owned) largest = std::max(largest, m.rows * m.columns);
    const TensorId workspace = add_state(stage_, name_ + ".workspace", TensorClass::step_scratch,
                                         DType::fp32, {{3}, {largest}});
    const int first = last_op() + 1;
    for (std::size_t i = 0; i < owned.size(); ++i) {
      Op& op = push(OpKind::newton_schulz, ".newton_schulz." + std::to_string(i), {workspace},
                    {workspace});
      op.attr.m = {owned[i].rows};
      op.attr.n = {owned[i].columns};
      op.attr.experts = owned[i].count;
      op.attr.math = DType::bf16;
    }
    push(OpKind::copy, s.suffix + ".apply", {workspace, s.main_params}, {s.main_params}).attr.n =
        {s.elements};
    stage_.step_lives.push_back({workspace, first, last_op()});
    cast(s);
  }

  // The state is in host memory between steps.
  void step_with_reloaded_state(std::int64_t elements) {
    const Segment s = add_segment(".reloaded", elements, TensorClass::optimizer_state);
    const Segment kept = add_segment(".kept_on_host", elements, TensorClass::host_state);
    keep(kept);
    const std::vector<TensorId> here = state_of(s), there = state_of(kept);
    const int first = last_op() + 1;
    for (std::size_t i = 0; i < here.size(); ++i) {
      push(OpKind::reload, reload_name(here[i]), {there[i]}, {here[i]});
    }
    step(s);
    for (std::size_t i = 0; i < here.size(); ++i) {
      push(OpKind::offload, reload_name(here[i]) + ".back", {here[i]}, {there[i]});
    }
    for (TensorId id : here) stage_.step_lives.push_back({id, first, last_op()});
  }
  [[nodiscard]] std::string reload_name(TensorId id) const {
    return stage_.state[id.index()].name.substr(name_.size()) + ".reload";
  }

  // Gradients to the host, its step, the new weights back. Overlapped, the host's work hides the
  // transfers or they hide it (mcore optimizer/cpu_offloading/hybrid_optimizer.py).
  void step_on_host(std::int64_t elements) {
    host_gradients_ = add_state(stage_, name_ + ".host.gradients", TensorClass::host_state,
                                plan_.optimizer.main_grads, {{elements}});
    Segment s = add_segment(".host", elements, TensorClass::host_state);
    s.on_host = true;
    // In the pleat dialect as the weights are; fp32 ones are the main parameters.
    const DType type = runtime_ == Runtime::pleat ? stage_.state[bucket().weights.index()].dtype
                                                  : DType::bf16;
    const TensorId weights = add_state(stage_, name_ + ".host.weights", TensorClass::host_state,
                                       type, {{elements}});
    if (!bucket().has_main_params) s.main_params = weights;
    keep(s);
    const Stream stream = plan_.optimizer.cpu_offload_overlapped ? Stream::copy : Stream::compute;
    Op& out = push(OpKind::offload, ".host.gradients", {bucket().gradients}, {host_gradients_});
    out.stream = stream;
    out.attr.first = s.first;
    out.attr.n = {elements};
    step(s);
    if (bucket().has_main_params && runtime_ == Runtime::pleat) {
      push(OpKind::copy, ".host.cast", {s.main_params}, {weights}).on_host = true;
    }
    Op& back = push(OpKind::reload, ".host.weights", {weights}, {bucket().weights});
    back.stream = stream;
    back.attr.first = s.first;
    back.attr.n = {elements};
  }

  StageProgram& stage_;
  const ModelSpec& model_;
  const Plan& plan_;
  Runtime runtime_;
  std::size_t index_;
  std::int64_t most_elements_ = 0;  // of a whole matrix, or of its parts
  TensorId scale_, host_gradients_;
  std::string name_;
};

}  // namespace

void add_optimizer_step(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                        Runtime runtime, std::size_t bucket, TensorId scale) {
  OptimizerStep(stage, model, plan, runtime, bucket, scale).append();
}

}  // namespace pleat
