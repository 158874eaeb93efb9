// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/execute/initial_weights.hpp"
#include "backend/execute/main_params.hpp"
#include "backend/execute/op_table.hpp"
#include "backend/execute/sharded_layers.hpp"
#include "backend/execute/stream_choice.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/compile_stage.hpp"

namespace pleat {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

bool persists(const Tensor& t) {
  return t.cls == TensorClass::weight || t.cls == TensorClass::optimizer_state ||
         t.cls == TensorClass::host_state;
}

bool contains(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Whether a tensor lives from the first step to the last: its life neither begins nor ends in one.
bool whole_run(const StageProgram& stage, TensorId id) {
  return std::none_of(stage.step_lives.begin(), stage.step_lives.end(), [&](const auto& life) {
    return life.tensor == id && (life.begin >= 0 || life.end >= 0);
  });
}

}  // namespace

Executor::Executor(const Program& program, const TrainConfig& config, const RankContext& context,
                   const Batches& batches, Device& device, RankProgress& progress)
    : run_(program, config, context, batches, device), progress_(progress), checkpoint_(run_) {
  const StageProgram& stage = run_.stage;
  for (std::size_t i = 0; i < stage.state.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    if (!whole_run(stage, id)) continue;
    run_.store.birth_state(id);
    if (!persists(stage.state[i])) continue;
    const View state = run_.store.state(id, false, "init");
    run_.kernels_at(state).zero(state);
  }
  execute::initialise_weights(run_);
  run_.windows.open(context);
  captured_.emplace(run_);
  // Poison is written on stream 0 alone, so with it all operations stay there.
  if (!config.poison && device.has_streams()) order_.emplace(device);
}

void Executor::run_step(int step, SpanRecorder* spans) {
  const StageProgram& stage = run_.stage;
  run_.step.number = step;
  progress_.step.store(step, kRelaxed);
  spans_ = spans;
  run_.step.losses = {};
  checkpoint_.forget();
  run_.step.lr = learning_rate(run_.config.schedule, run_.config.adamw.lr, run_.step.updates);
  run_.rows.begin_step();
  run_.step.load.clear();
  run_.device_load.clear();
  for (std::size_t i = 0; i < stage.state.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    if (persists(stage.state[i])) continue;
    run_.store.forget_contents(id);
    if (stage.state[i].cls == TensorClass::gradient) run_.store.poison_state(id);
  }
  run_.store.forget_contents(stage.loss);
  for (const StepLifetime& life : stage.step_lives) {
    if (life.begin < 0 && life.end >= 0) run_.store.birth_state(life.tensor);
  }
  run_step_ops(stage.prologue, false);
  walk_step(stage, *this);
  finish_given();
  run_.store.require_no_activations();
  if (run_.config.adjust_gradients) adjust_gradients();
  run_step_ops(stage.epilogue, true);
  run_.step.losses = own_losses();  // waits for the device
  run_.device_load.add_to(run_.step.load);
  progress_.running.store(nullptr, kRelaxed);
}

// All members of a tp group have the same cross entropy, so the first one counts it. Of the
// router's losses each has a share.
Losses Executor::own_losses() {
  Losses own{};
  const View losses = run_.store.state(run_.stage.loss, true, "loss");
  std::ranges::copy(values_of(run_.device, losses), own.begin());
  if (run_.ranks.attention().tp > 0) own[kCrossEntropy] = own[kMtp] = 0;
  return own;
}

Losses Executor::evaluate(const StageProgram& forward, const Batches& batches, int batch) {
  const auto trained_on = std::exchange(run_.batches, &batches);
  auto routed = run_.rows.put_aside();
  auto load = std::exchange(run_.step.load, {});
  const int step = std::exchange(run_.step.number, batch);
  spans_ = nullptr;
  run_.store.forget_contents(run_.stage.loss);
  run_step_ops(forward.prologue, false);
  walk_step(forward, *this);
  finish_given();
  run_.store.require_no_activations();
  const Losses losses = own_losses();
  // The bf16 weights come back where narrow codes took their place in memory.
  execute::copy_weights(
      run_, [](const BucketState& b, const StateSegment&) { return b.narrow_in_place.has_value(); },
      true);
  gather_weights(true);
  progress_.running.store(nullptr, kRelaxed);
  run_.batches = trained_on;
  run_.rows.take_back(std::move(routed));
  run_.step.load = std::move(load);
  run_.step.number = step;
  return losses;
}

void Executor::restored(std::int64_t updates) {
  run_.step.updates = updates;
  run_.scaling.restored();
  if (checkpoint_.take_back()) gather_weights(false);
  execute::refresh_host_weights(run_);
}

// Gathers weights as the end of a step does. `narrow_only`: only those whose place codes had taken.
void Executor::gather_weights(bool narrow_only) {
  for (const Op& op : run_.stage.epilogue) {
    if (op.kind != OpKind::gather_bucket) continue;
    const auto of_bucket = [&](const BucketState& b) {
      const bool wanted = !narrow_only || b.narrow_in_place;
      return b.elements > 0 && wanted && op.in.front() == b.weights;
    };
    if (std::ranges::any_of(run_.stage.buckets, of_bucket)) perform(op, nullptr);
  }
}

void Executor::adjust_gradients() {
  for (const BucketState& b : run_.stage.buckets) {
    if (b.elements == 0) continue;
    const View all = run_.store.state(b.gradients, true, "adjust");  // or this rank's shard of it
    change_values(
        run_.device, elements_of(all, 0, std::min(b.elements, all.elements())),
        [&](std::span<float> values) { run_.config.adjust_gradients(run_.ranks.rank(), values); });
  }
}

void Executor::run_step_ops(const std::vector<Op>& ops, bool epilogue) {
  const std::vector<StepLifetime>& lives = run_.stage.step_lives;
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    if (epilogue) {
      for (const StepLifetime& life : lives) {
        if (life.begin == i) run_.store.birth_state(life.tensor);
      }
    }
    perform(ops[static_cast<std::size_t>(i)], nullptr);
    if (epilogue) {
      for (const StepLifetime& life : lives) {
        if (life.end == i) run_.store.death_state(life.tensor);
      }
    }
  }
}

void Executor::on_birth(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  run_.store.birth(key, tensor, run_.rows.binding(site, tensor));
}

void Executor::on_death(const OpSite&, const InstanceKey& key, const Tensor& tensor) {
  run_.rows.forget(key);
  run_.store.death(key, tensor);
}

void Executor::on_stash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  if (!run_.rows.has_stash()) return;
  finish_given();
  run_.store.stash(key, tensor, run_.rows.binding(site, tensor));
}

void Executor::on_unstash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  if (!run_.rows.has_stash()) return;
  finish_given();
  run_.store.unstash(key, tensor, run_.rows.binding(site, tensor));
}

void Executor::on_op(const OpSite& site) { perform(*site.op, &site); }

void Executor::perform(const Op& op, const OpSite* site) {
  progress_.layer.store(site == nullptr ? -1 : site->instance->layer.value, kRelaxed);
  progress_.microbatch.store(site == nullptr ? -1 : site->microbatch.value, kRelaxed);
  progress_.running.store(&op, kRelaxed);
  const TrainConfig& config = run_.config;
  if (config.before_op) config.before_op(run_.ranks.rank(), op, run_.step.number);
  find_operands(op, site);
  const StreamOrder::Guard guard(order_ ? &*order_ : nullptr);
  const bool waits = spans_ == nullptr && captured_->takes(op, site);
  if (!waits || !captured_->continues(*site)) flush_captured();
  if (order_ && site == nullptr) {
    order_->join();
  } else if (order_) {
    const int stream = spans_ != nullptr ? execute::kCompute : execute::stream_of(op, site, run_);
    order_->begin(stream, in_, out_, execute::shared_by(op, run_));
  }
  const execute::Call call{op, site, in_, out_};
  if (waits) {
    capture(call);
    progress_.finished.fetch_add(1, kRelaxed);
    return;
  }
  const execute::OpEntry& entry = execute::entry_of(op.kind);
  const Device::Moment begin = spans_ != nullptr ? run_.device.moment() : nullptr;
  entry.run(call, run_);
  if (entry.learn != nullptr) entry.learn(call, run_);
  if (config.after_op) config.after_op(run_.ranks.rank(), op, out_);
  if (order_) order_->end();
  if (spans_ != nullptr) spans_->add(op, site, begin, run_.device.moment());
  progress_.finished.fetch_add(1, kRelaxed);
}

// A result that the host has to read ends the graph.
void Executor::capture(const execute::Call& call) {
  const execute::OpEntry& entry = execute::entry_of(call.op.kind);
  captured_->add(call);
  if (entry.learn == nullptr) return;
  if (entry.learn_waits(call.op, run_)) flush_captured();
  entry.learn(call, run_);
}

void Executor::flush_captured() {
  captured_->flush([this](const execute::Call& c) {
    execute::entry_of(c.op.kind).run(c, run_);
    if (run_.config.after_op) run_.config.after_op(run_.ranks.rank(), c.op, c.out);
  });
}

// Gives the device the operations that wait for their graph. Stream 0 goes on after all others.
void Executor::finish_given() {
  flush_captured();
  if (order_) order_->join();
}

void Executor::find_operands(const Op& op, const OpSite* site) {
  in_.clear();
  out_.clear();
  for (TensorId id : op.in) in_.push_back(operand(op, site, id, true));
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    const TensorId id = op.out[i];
    const bool more = i == 0 && adds(op, site) && !contains(op.in, id);
    if (more) static_cast<void>(operand(op, site, id, true));  // there must be something to add to
    out_.push_back(operand(op, site, id, false));
  }
}

View Executor::operand(const Op& op, const OpSite* site, TensorId id, bool reads) {
  if (site == nullptr) return run_.store.state(id, reads, op.name);
  const LayerProgram& layer = *site->program;
  const Tensor& tensor = layer.tensor(id);
  if (tensor.cls == TensorClass::activation) {
    return run_.store.activation(resolve(run_.stage, *site, id), tensor,
                                 run_.rows.binding(*site, tensor), reads, op.name);
  }
  if (tensor.cls == TensorClass::step_scratch) {  // the loss, which is only ever added to
    return run_.store.state(run_.stage.loss, true, op.name);
  }
  for (std::size_t w = 0; w < layer.weights.size(); ++w) {
    const Weight& weight = layer.weights[w];
    const bool gradient = weight.gradient == id && !weight.buffer;
    if (weight.weight != id && !gradient) continue;
    // What other operations add to has been cleared.
    const bool fresh = gradient && !reads && weight.written && !adds(op, site);
    if (const auto whole = execute::whole_operand(op, *site, w, gradient, !fresh, run_)) {
      return *whole;
    }
    const BucketPart part = gradient        ? BucketPart::gradients
                            : weight.buffer ? BucketPart::buffers
                                            : BucketPart::weights;
    return run_.store.parameter(site->instance->slots[w], tensor, part, op.name, !fresh);
  }
  throw ExecutionError(fmt::format("operation '{}' of layer {} uses '{}', which has no storage",
                                   op.name, site->instance->layer.value, tensor.name));
}

std::vector<float> Executor::buffers(Bucket which) {
  const BucketState& bucket = run_.bucket(which);
  if (bucket.buffer_elements == 0) return {};
  return values_of(run_.device, run_.store.state(bucket.buffers, true, "collect"));
}

std::vector<BucketRange> Executor::weights(Bucket which) {
  const BucketState& bucket = run_.bucket(which);
  if (bucket.elements == 0) return {};
  const View view = run_.store.state(bucket.weights, true, "collect");
  if (!run_.shards.weights_in_shards()) return {{0, values_of(run_.device, view)}};
  std::vector<BucketRange> all;
  for (const execute::Piece& p : run_.shards.pieces(which)) {
    all.push_back({p.whole, values_of(run_.device, execute::piece_of(p, view, true))});
  }
  return all;
}

}  // namespace pleat
