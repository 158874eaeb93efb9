// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/init.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/compile_stage.hpp"
#include "core/program/step_state.hpp"

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

BucketPart part_of(const Weight& w) { return w.buffer ? BucketPart::buffers : BucketPart::weights; }

// Alive from the first step to the last: no lifetime of its own, or one without an end.
bool whole_run(const StageProgram& stage, TensorId id) {
  return std::none_of(stage.step_lives.begin(), stage.step_lives.end(), [&](const auto& life) {
    return life.tensor == id && (life.begin >= 0 || life.end >= 0);
  });
}

// Rows that a paged stash has room for and keeps; none without one.
Binding stash_of(const Program& p) {
  const PagedStash& stash = p.plan.paged_stash;
  if (stash.buffer <= 0) return {};
  const auto rows = [&](double over_mean) {
    return balanced_routed_tokens(p.model, p.workload, p.plan, over_mean);
  };
  return {.room = rows(stash.capacity), .stashed = rows(stash.buffer)};
}

}  // namespace

Executor::Executor(const Program& program, const TrainConfig& config, const RankContext& context,
                   const Batches& batches, Device& device, RankProgress& progress)
    : program_(program),
      config_(config),
      context_(context),
      batches_(&batches),
      device_(device),
      kernels_(device.kernels()),
      own_host_kernels_(device.is_host() ? nullptr : cpu_kernels()),
      host_kernels_(own_host_kernels_ ? *own_host_kernels_ : kernels_),
      progress_(progress),
      stage_(program.stages[static_cast<std::size_t>(context.attention().pp)]),
      schedule_(schedule_of(program.plan, program.workload)),
      stash_(stash_of(program)),
      windows_(program, context, device),
      store_(stage_, device, config.poison, [this](const Tensor& t) { return windows_.memory_of(t); }),
      aside_(device.memory(), config.poison),
      pinned_(device.host_memory(), false),
      undecayed_(undecayed_ranges(stage_, config.tables_decay)) {
  for (std::size_t i = 0; i < stage_.state.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    if (!whole_run(stage_, id)) continue;
    store_.birth_state(id);
    if (!persists(stage_.state[i])) continue;
    const View state = store_.state(id, false, "init");
    kernels_at(state).zero(state);
  }
  initialise_weights();
  windows_.open(context);
  if (config.poison) return;  // which would come before what waits, or is used on another stream
  const CudaGraph scope = program.plan.cuda_graph;
  if (scope != CudaGraph::none && device.captures()) {
    graphs_.emplace(device, scope == CudaGraph::full_iteration, [this](const std::string& text) {
      if (config_.on_message) config_.on_message(context_.rank(), text);
    });
  }
  if (device.has_streams()) order_.emplace(device);
}

void Executor::initialise_weights() {
  const WeightRank mine = weight_rank(program_.plan, context_.rank());
  for (const ChunkProgram& chunk : stage_.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage_.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const Weight& weight = layer.weights[w];
        if (is_load(layer, weight)) continue;  // counted anew in every step
        const Tensor& tensor = layer.tensor(weight.weight);
        const bool in_shards = weights_in_shards() && !weight.buffer;
        const View kept = in_shards ? View{nullptr, tensor.dtype, tensor.rows({}), tensor.columns({})}
                                    : store_.parameter(instance.slots[w], tensor, part_of(weight),
                                                       "init");
        const bool elsewhere = in_shards || device_.hidden(kept.data);
        std::vector<std::byte> whole(elsewhere ? static_cast<std::size_t>(tensor.bytes({}))
                                               : std::size_t{0});
        View view = kept;
        if (elsewhere) view.data = whole.data();
        const InitialValue value = initial_value(layer, weight);
        for (const NamedPart& p : named_parts(layer, instance, weight, mine)) {
          initialise(p, value, elements_of(view, p.offset, p.elements));
        }
        if (in_shards) {
          keep_weight(instance.slots[w], view);
        } else if (elsewhere) {
          device_.copy(kept.data, view.data, byte_count(view));
        }
      }
    }
  }
  refresh_host_weights();
  initialise_main_params();
}

// What reads or changes weights sees the whole tensor, of which this rank keeps its part.
void Executor::initialise(const NamedPart& p, InitialValue value, View part) const {
  std::vector<float> whole;
  if (config_.read_weight || config_.adjust_weight) {
    whole.resize(static_cast<std::size_t>(p.whole));
    if (config_.read_weight) {
      config_.read_weight(p.name, whole);
    } else {
      fill_initial(value, p.name, config_.seed, 0, whole);
    }
    if (config_.adjust_weight) config_.adjust_weight(p.name, whole);
  }
  std::vector<float> values;
  for (const WeightRun& run : p.runs) {
    const auto first = static_cast<std::size_t>(run.whole);
    const auto count = static_cast<std::size_t>(run.elements);
    values.resize(count);
    if (whole.empty()) {
      fill_initial(value, p.name, config_.seed, run.whole, values);
    } else {
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(first), count, values.begin());
    }
    set_values(elements_of(part, run.local, run.elements), values);
  }
}

void Executor::run_step(int step, SpanRecorder* spans) {
  step_ = step;
  progress_.step.store(step, kRelaxed);
  spans_ = spans;
  losses_ = {};
  wide_.clear();
  wide_mains_.clear();
  lr_ = learning_rate(config_.schedule, config_.adamw.lr, updates_);
  routed_.clear();
  counts_.clear();
  load_.clear();
  for (std::size_t i = 0; i < stage_.state.size(); ++i) {
    if (!persists(stage_.state[i])) store_.forget_contents(TensorId{static_cast<int>(i)});
  }
  store_.forget_contents(stage_.loss);
  for (const StepLifetime& life : stage_.step_lives) {
    if (life.begin < 0 && life.end >= 0) store_.birth_state(life.tensor);
  }
  run_step_ops(stage_.prologue, false);
  walk_step(stage_, *this);
  finish_given();
  store_.require_no_activations();
  if (config_.adjust_gradients) adjust_gradients();
  run_step_ops(stage_.epilogue, true);
  losses_ = own_losses();  // waits for the device
  progress_.running.store(nullptr, kRelaxed);
}

// The members of a tp group all add up the same losses, but of the router's each has its share.
Losses Executor::own_losses() {
  Losses own{};
  const View losses = store_.state(stage_.loss, true, "loss");
  std::ranges::copy(values_of(device_, losses), own.begin());
  if (context_.attention().tp > 0) own[kCrossEntropy] = own[kMtp] = 0;
  return own;
}

Losses Executor::evaluate(const StageProgram& forward, const Batches& batches, int batch) {
  const auto trained_on = std::exchange(batches_, &batches);
  auto routed = std::exchange(routed_, {});
  auto load = std::exchange(load_, {});
  const int step = std::exchange(step_, batch);
  spans_ = nullptr;
  store_.forget_contents(stage_.loss);
  run_step_ops(forward.prologue, false);
  walk_step(forward, *this);
  finish_given();
  store_.require_no_activations();
  const Losses losses = own_losses();
  widen_weights();
  progress_.running.store(nullptr, kRelaxed);
  batches_ = trained_on;
  routed_ = std::move(routed);
  load_ = std::move(load);
  step_ = step;
  return losses;
}

void Executor::adjust_gradients() {
  for (const BucketState& b : stage_.buckets) {
    if (b.elements == 0) continue;
    const View all = store_.state(b.gradients, true, "adjust");  // or this rank's shard of it
    change_values(
        device_, elements_of(all, 0, std::min(b.elements, all.elements())),
        [&](std::span<float> values) { config_.adjust_gradients(context_.rank(), values); });
  }
}

void Executor::run_step_ops(const std::vector<Op>& ops, bool epilogue) {
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    if (epilogue) {
      for (const StepLifetime& life : stage_.step_lives) {
        if (life.begin == i) store_.birth_state(life.tensor);
      }
    }
    perform(ops[static_cast<std::size_t>(i)], nullptr);
    if (epilogue) {
      for (const StepLifetime& life : stage_.step_lives) {
        if (life.end == i) store_.death_state(life.tensor);
      }
    }
  }
}

Binding Executor::binding(const OpSite& site, const Tensor& tensor) const {
  if (!tensor.is_routed()) return {};
  const auto it = routed_.find({site.microbatch.value, layer_of(site, tensor).value});
  if (it == routed_.end()) {
    throw ExecutionError(
        fmt::format("tensor '{}' of layer {}, microbatch {}: the routed count is "
                    "not known yet",
                    tensor.name, layer_of(site, tensor).value, site.microbatch.value));
  }
  return it->second;
}

void Executor::on_birth(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  store_.birth(key, tensor, binding(site, tensor));
}

void Executor::on_death(const OpSite&, const InstanceKey& key, const Tensor& tensor) {
  if (!counts_.empty()) counts_.erase(key);
  store_.death(key, tensor);
}

// What waits for its graph is given to the device; stream 0 goes on after all other streams.
void Executor::finish_given() {
  run_waiting();
  if (order_) order_->join();
}

void Executor::on_stash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  if (stash_.stashed == 0) return;
  finish_given();
  store_.stash(key, tensor, binding(site, tensor));
}

void Executor::on_unstash(const OpSite& site, const InstanceKey& key, const Tensor& tensor) {
  if (stash_.stashed == 0) return;
  finish_given();
  store_.unstash(key, tensor, binding(site, tensor));
}

void Executor::on_op(const OpSite& site) { perform(*site.op, &site); }

void Executor::perform(const Op& op, const OpSite* site) {
  progress_.layer.store(site == nullptr ? -1 : site->instance->layer.value, kRelaxed);
  progress_.microbatch.store(site == nullptr ? -1 : site->microbatch.value, kRelaxed);
  progress_.running.store(&op, kRelaxed);
  if (config_.before_op) config_.before_op(context_.rank(), op, step_);
  in_.clear();
  out_.clear();
  for (TensorId id : op.in) in_.push_back(operand(op, site, id, true));
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    const TensorId id = op.out[i];
    const bool adds = i == 0 && op.attr.accumulate && !contains(op.in, id);
    if (adds) static_cast<void>(operand(op, site, id, true));  // there must be something to add to
    out_.push_back(operand(op, site, id, false));
  }
  const StreamOrder::Guard guard(order_ ? &*order_ : nullptr);
  const bool waits = in_graph(op, site);
  if (!waits || !graphs_->belongs(*site)) run_waiting();
  begin_on_stream(op, site);
  const Call call{op, site, in_, out_};
  if (waits) {
    add_to_graph(call);
    progress_.finished.fetch_add(1, kRelaxed);
    return;
  }
  const Device::Moment begin = spans_ != nullptr ? device_.moment() : nullptr;
  dispatch(call);
  learn_rows(call);
  if (config_.after_op) config_.after_op(context_.rank(), op, out_);
  if (order_) order_->end();
  if (spans_ != nullptr) spans_->add(op, site, begin, device_.moment());
  progress_.finished.fetch_add(1, kRelaxed);
}

Executor::Aside Executor::aside(DType type, std::int64_t rows, std::int64_t cols) {
  Aside a{aside_.allocate(bytes_of(type, rows * cols)), {}};
  a.kept = {a.block.data(), type, rows, cols};
  return a;
}

void Executor::copy_between(View from, View to) {
  const bool hidden = device_.hidden(from.data), hides = device_.hidden(to.data);
  if (hidden == hides) return (hidden ? kernels_ : host_kernels_).copy(from, to);
  if (from.dtype == to.dtype) {
    PLEAT_ASSERT(from.elements() == to.elements());
    return device_.copy(to.data, from.data, byte_count(to));
  }
  read_on_host(device_, from, [&](View values) {
    write_on_host(device_, to, [&](View there) { host_kernels_.copy(values, there); });
  });
}

View Executor::operand(const Op& op, const OpSite* site, TensorId id, bool reads) {
  if (site == nullptr) return store_.state(id, reads, op.name);
  const LayerProgram& layer = *site->program;
  const Tensor& tensor = layer.tensor(id);
  if (tensor.cls == TensorClass::activation) {
    return store_.activation(resolve(stage_, *site, id), tensor, binding(*site, tensor), reads,
                             op.name);
  }
  if (tensor.cls == TensorClass::step_scratch) {  // the loss, which is only ever added to
    return store_.state(stage_.loss, true, op.name);
  }
  for (std::size_t w = 0; w < layer.weights.size(); ++w) {
    const Weight& weight = layer.weights[w];
    const WeightSlot& slot = site->instance->slots[w];
    const bool gradient = weight.gradient == id && !weight.buffer;
    if (weight.weight != id && !gradient) continue;
    if (const auto whole = whole_tensor(*site, weight, gradient)) {
      return sharded_operand(op, *site, w, *whole);
    }
    return store_.parameter(slot, tensor, gradient ? BucketPart::gradients : part_of(weight),
                            op.name);
  }
  throw ExecutionError(
      fmt::format("operation '{}' of layer {} uses '{}', which has no "
                  "storage",
                  op.name, site->instance->layer.value, tensor.name));
}

std::vector<float> Executor::buffers(Bucket which) {
  const BucketState& bucket = stage_.buckets[static_cast<std::size_t>(which)];
  if (bucket.buffer_elements == 0) return {};
  return values_of(device_, store_.state(bucket.buffers, true, "collect"));
}

std::vector<BucketRange> Executor::weights(Bucket which) {
  const BucketState& bucket = stage_.buckets[static_cast<std::size_t>(which)];
  if (bucket.elements == 0) return {};
  const View view = store_.state(bucket.weights, true, "collect");
  if (!weights_in_shards()) return {{0, values_of(device_, view)}};
  std::vector<BucketRange> all;
  for (const Piece& p : pieces(which)) {
    all.push_back({p.whole, values_of(device_, piece_of(p, view, true))});
  }
  return all;
}

}  // namespace pleat
