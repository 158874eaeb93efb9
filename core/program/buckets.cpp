// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lays the weights of a stage out in buckets and gives each bucket its weights, gradients and
// optimizer state, in device and host memory.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/plan/rank_map.hpp"
#include "core/program/losses.hpp"
#include "core/program/placed_weights.hpp"
#include "core/program/step_ops.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// The weights of each of the stage's layer programs.
std::vector<PlacedWeights> weights_of(const StageProgram& stage, const Plan& plan,
                                      PlacedDetail detail) {
  std::vector<PlacedWeights> all;
  all.reserve(stage.layers.size());
  for (const LayerProgram& layer : stage.layers) {
    all.push_back(placed_weights(layer, plan, detail));
  }
  return all;
}

// visit(weights, slots) of every instance in forward order. DualPipe's mirrored stages hold the
// same layers in opposite chunks; both begin with the earlier ones, so that their buckets can be
// summed.
template <class Visit>
void for_each_instance(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                       const Plan& plan, Visit visit) {
  const std::size_t count = stage.chunks.size();
  const bool opposite = plan.schedule == PipelineSchedule::dualpipe &&
                        stage.stage.value >= plan.attention.pp / 2;
  for (std::size_t c = 0; c < count; ++c) {
    for (LayerInstance& instance : stage.chunks[opposite ? count - 1 - c : c].instances) {
      visit(weights[static_cast<std::size_t>(instance.program)], instance.slots);
    }
  }
}

// Every layer's weights by themselves, its table apart from the others, those that are summed over
// tp first, padded to whole shards. A table that several layers have is the first one's.
class PlacementByLayer {
 public:
  PlacementByLayer(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                   const Plan& plan)
      : stage_(stage), weights_(weights), plan_(plan) {}

  void run() {
    for (ChunkProgram& chunk : stage_.chunks) {
      for (LayerInstance& instance : chunk.instances) {
        const PlacedWeights& weights = weights_[static_cast<std::size_t>(instance.program)];
        place_table(weights, instance);
        for (const Bucket which : {Bucket::dense, Bucket::expert}) place(weights, instance, which);
      }
    }
  }

 private:
  BucketState& bucket(Bucket which) { return stage_.buckets[static_cast<std::size_t>(which)]; }

  void place_table(const PlacedWeights& weights, LayerInstance& instance) {
    for (const auto* list : {&weights.summed, &weights.others}) {
      for (const PlacedWeight& w : *list) {
        if (!w.table) continue;
        if (!table_) {
          const std::int64_t begin = bucket(Bucket::dense).elements;
          append(w, instance.slots[w.weight]);
          table_ = instance.slots[w.weight];
          close(Bucket::dense, {.begin = begin});
        }
        instance.slots[w.weight] = *table_;
      }
    }
  }

  void place(const PlacedWeights& weights, LayerInstance& instance, Bucket which) {
    BucketUnit unit{.begin = bucket(which).elements};
    const auto append_all = [&](const std::vector<PlacedWeight>& list) {
      for (const PlacedWeight& w : list) {
        const bool here = w.bucket == static_cast<std::size_t>(which);
        if (here && !w.table) append(w, instance.slots[w.weight]);
      }
    };
    append_all(weights.summed);
    unit.replicated_elements = bucket(which).elements - unit.begin;
    append_all(weights.others);
    close(which, unit);
  }

  void append(const PlacedWeight& w, WeightSlot& slot) {
    BucketState& b = stage_.buckets[w.bucket];
    slot = {static_cast<Bucket>(w.bucket), b.elements};
    b.elements += w.elements;
    if (!w.narrow) return;
    slot.narrow = b.narrow_elements;
    b.narrow_elements += w.elements;
  }

  void close(Bucket which, BucketUnit unit) {
    BucketState& b = bucket(which);
    if (b.elements == unit.begin) return;
    const int shards = group_size(plan_, shard_groups(plan_, which == Bucket::expert).shard);
    unit.elements = (b.elements - unit.begin + shards - 1) / shards * shards;
    b.elements = unit.begin + unit.elements;
    b.units.push_back(unit);
  }

  StageProgram& stage_;
  const std::vector<PlacedWeights>& weights_;
  const Plan& plan_;
  std::optional<WeightSlot> table_;
};

// The weights as they are kept, and copies of those that narrow products read beside them: narrow
// types need a row-wise and a column-wise one.
struct WeightTypes {
  DType kept = DType::fp32;
  std::int64_t copies = 1;            // of the kept type
  std::optional<DType> narrow = {};   // cached beside the kept ones, twice
  std::optional<DType> in_place = {};  // made of the kept ones where they lie (pleat runtime)
};

WeightTypes weight_types(const Plan& plan, Runtime runtime) {
  const auto primary = [&](DType narrow) {
    if (!plan.fp8_params) return WeightTypes{DType::bf16, 1, narrow, {}};
    if (runtime == Runtime::pleat) return WeightTypes{DType::bf16, 1, {}, narrow};
    return WeightTypes{narrow, 2, {}, {}};
  };
  switch (plan.precision) {
    case Precision::fp32: return {};
    case Precision::fp16:
    case Precision::bf16: return {DType::bf16, 1, {}, {}};
    case Precision::nvfp4: return {DType::bf16, 1, DType::nvfp4, {}};
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block: return primary(DType::fp8);
    case Precision::mxfp8: return primary(DType::mxfp8);
  }
  return {};
}

// Which elements of the buckets several ranks of tp (etp) hold: in order, and those of a table that
// several layers have once.
void note_copies(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                 const Plan& plan) {
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, const auto& slots) {
    for (const auto& [weight, copies] : of.copies) {
      const WeightSlot& slot = slots[weight];
      std::vector<Copies>& all = stage.buckets[static_cast<std::size_t>(slot.bucket)].copies;
      all.push_back(copies);
      all.back().first += slot.offset;
    }
  });
  for (BucketState& bucket : stage.buckets) {
    std::ranges::sort(bucket.copies, {}, &Copies::first);
    const auto repeated = std::ranges::unique(bucket.copies);
    bucket.copies.erase(repeated.begin(), repeated.end());
  }
}

std::int64_t share_of(double share, const BucketState& b) {
  const std::int64_t n = std::llround(share * static_cast<double>(b.shard_elements));
  return b.twin_table ? n / kMomentBlock * kMomentBlock : n;
}

void add_moments(StageProgram& stage, const std::string& name, const OptimizerPlan& o,
                 bool second, TensorClass cls, const Dim& size, TensorId& first_id,
                 TensorId& second_id) {
  first_id = add_state(stage, name + ".exp_avg", cls, o.exp_avg, {size});
  if (second) second_id = add_state(stage, name + ".exp_avg_sq", cls, o.exp_avg_sq, {size});
}

void add_bucket_state(StageProgram& stage, std::size_t index, const Plan& plan,
                      const WeightTypes& types) {
  BucketState& b = stage.buckets[index];
  const OptimizerPlan& o = plan.optimizer;
  const std::string name = bucket_name(index);
  const bool whole_weights = plan.sharding != Sharding::zero3;
  const bool whole_gradients =
      plan.sharding == Sharding::none || plan.sharding == Sharding::zero1;
  const Dim padded{b.shards * b.shard_elements}, shard{b.shard_elements};
  const Dim weights{types.copies * (whole_weights ? padded.n : shard.n)};
  b.weights = add_state(stage, name + ".weights", TensorClass::weight, types.kept, {weights});
  if (b.buffer_elements > 0) {  // in fp32 whatever the weights are kept in
    b.buffers = add_state(stage, name + ".buffers", TensorClass::weight, DType::fp32,
                          {{b.buffer_elements}});
  }
  // With parameters sharded the narrow copies are made when a layer's weights have been gathered.
  const bool copies = (whole_weights || b.shards == 1) && b.narrow_elements > 0;
  if (copies && types.in_place) {
    b.narrow_in_place = types.in_place;
    const std::int64_t codes = 2 * padded.n;
    const std::int64_t room = bytes_of(*types.in_place, codes) - codes;
    if (room > 0) {
      add_state(stage, name + ".weight_scales", TensorClass::weight, DType::u8, {{room}});
    }
  }
  if (copies && types.narrow) {
    b.narrow_copies = add_state(stage, name + ".narrow_copies", TensorClass::weight, *types.narrow,
                                {{2 * b.narrow_elements}});
  }
  b.gradients = add_state(stage, name + ".gradients", TensorClass::gradient, o.main_grads,
                          {whole_gradients ? padded : shard});
  b.has_main_params = types.kept != DType::fp32;
  b.has_second_moment = o.kind != OptimizerKind::sgd && !of_matrices(index);
  b.host_elements = share_of(o.cpu_offload, b);
  b.reloaded_elements = std::min(share_of(o.state_offload, b),
                                 b.shard_elements - b.host_elements);
  const Dim resident{b.shard_elements - b.host_elements - b.reloaded_elements};
  b.main_params = b.weights;
  if (b.has_main_params) {
    b.main_params = add_state(stage, name + ".main_params", TensorClass::optimizer_state,
                              o.main_params, {resident});
  }
  add_moments(stage, name, o, b.has_second_moment, TensorClass::optimizer_state, resident,
              b.exp_avg, b.exp_avg_sq);
}

std::int64_t in_blocks(std::int64_t elements) {
  return (elements + kMomentBlock - 1) / kMomentBlock * kMomentBlock;
}

void cut_shards(StageProgram& stage, const Plan& plan) {
  const bool sharded = plan.sharding != Sharding::none;
  const int stage_copies = group_size(plan, Group::copies);
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    BucketState& b = stage.buckets[i];
    const Group group = shard_groups(plan, i % 2 == 1).shard;
    b.shards = sharded ? group_size(plan, group) * stage_copies : 1;
    b.shard_elements = (b.elements + b.shards - 1) / b.shards;
    if (b.twin_table) b.shard_elements = in_blocks(b.shard_elements);
  }
}

void add_buckets_state(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                       Runtime runtime) {
  const WeightTypes types = weight_types(plan, runtime);
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    if (stage.buckets[i].elements > 0) add_bucket_state(stage, i, plan, types);
  }
  stage.loss = add_state(stage, "loss", TensorClass::optimizer_state, DType::fp32,
                         {{loss_elements(model)}});
}

}  // namespace

bool is_table(const LayerProgram& layer, const Weight& w) {
  const bool may_hold_one = layer.kind == LayerKind::embedding || layer.kind == LayerKind::head ||
                            layer.kind == LayerKind::mtp;
  return may_hold_one && layer.tensor(w.weight).name == "W.embedding";
}

bool is_load(const LayerProgram& layer, const Weight& w) {
  return w.buffer && layer.tensor(w.weight).name.find("expert_load") != std::string::npos;
}

void lay_out_buckets(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                     Runtime runtime, bool shares_table) {
  stage.buckets.assign(bucket_count(plan.optimizer.kind), {});
  const WeightTypes types = weight_types(plan, runtime);
  const bool narrow_copies = types.narrow || types.in_place;
  const bool by_layer = runtime == Runtime::pleat && (plan.sharding == Sharding::zero2 ||
                                                      plan.sharding == Sharding::zero3);
  const bool copies = runtime == Runtime::pleat;  // prices do not ask who holds the same
  const std::vector<PlacedWeights> weights =
      weights_of(stage, plan, {.copies = copies, .narrow = narrow_copies || by_layer});
  for_each_instance(stage, weights, plan, [](const PlacedWeights& of, auto& slots) {
    slots.resize(of.count);
  });
  std::optional<WeightSlot> table;  // shared
  const OptimizerPlan& o = plan.optimizer;
  const bool twin_blocks = shares_table && runtime == Runtime::pleat &&
                           (scaled_moment(o.exp_avg) || scaled_moment(o.exp_avg_sq));
  const auto place = [&](const PlacedWeight& w, WeightSlot& slot) {
    if (w.table && table) {
      slot = *table;
      return;
    }
    BucketState& bucket = stage.buckets[w.bucket];
    if (w.table && twin_blocks) {
      bucket.elements = in_blocks(bucket.elements);
      bucket.twin_table = ParameterRange{bucket.elements, w.elements};
    }
    slot = {static_cast<Bucket>(w.bucket), bucket.elements};
    bucket.elements += w.elements;
    if (w.narrow) {
      slot.narrow = bucket.narrow_elements;
      bucket.narrow_elements += w.elements;
    }
    if (w.table) table = slot;
  };
  if (by_layer) {
    PlacementByLayer(stage, weights, plan).run();
  } else {
    for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
      for (const PlacedWeight& w : of.summed) place(w, slots[w.weight]);
    });
    for (BucketState& bucket : stage.buckets) bucket.replicated_elements = bucket.elements;
    for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
      for (const PlacedWeight& w : of.others) place(w, slots[w.weight]);
    });
  }
  if (copies) note_copies(stage, weights, plan);

  cut_shards(stage, plan);
  const auto place_buffer = [&](const PlacedWeight& w, WeightSlot& slot) {
    BucketState& b = stage.buckets[w.bucket];
    slot = {static_cast<Bucket>(w.bucket), b.shards * b.shard_elements + b.buffer_elements};
    b.buffer_elements += w.elements;
  };
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
    for (const PlacedWeight& w : of.biases) place_buffer(w, slots[w.weight]);
  });
  for (BucketState& b : stage.buckets) b.bias_elements = b.buffer_elements;
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
    for (const PlacedWeight& w : of.loads) place_buffer(w, slots[w.weight]);
  });
  add_buckets_state(stage, model, plan, runtime);
}

StageProgram stage_of_buckets(std::vector<BucketState> buckets, const ModelSpec& model,
                              const Plan& plan, Runtime runtime) {
  StageProgram stage;
  stage.buckets = std::move(buckets);
  cut_shards(stage, plan);
  add_buckets_state(stage, model, plan, runtime);
  add_step_ops(stage, model, plan, runtime, {});
  return stage;
}

}  // namespace pleat
