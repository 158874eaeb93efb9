// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lays the weights of a stage out in buckets and gives each bucket its weights, gradients and
// optimizer state, in device and host memory.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/plan/rank_map.hpp"
#include "core/program/losses.hpp"
#include "core/program/step_ops.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// visit(layer, weight, slot) in forward order. DualPipe's mirrored stages hold the same layers in
// opposite chunks; both begin with the earlier ones, so that their buckets can be summed.
template <class Visit>
void for_each_weight(StageProgram& stage, const Plan& plan, Visit visit) {
  const std::size_t count = stage.chunks.size();
  const bool opposite = plan.schedule == PipelineSchedule::dualpipe &&
                        stage.stage.value >= plan.attention.pp / 2;
  for (std::size_t c = 0; c < count; ++c) {
    for (LayerInstance& instance : stage.chunks[opposite ? count - 1 - c : c].instances) {
      const LayerProgram& layer = stage.program(instance);
      instance.slots.resize(layer.weights.size());
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        visit(layer, layer.weights[i], instance.slots[i]);
      }
    }
  }
}

bool read_narrow(const LayerProgram&, const Weight&);

// The order of weights in a bucket, or a unit of it: those that are summed over tp first. Those
// whose gradients a step clears (not `written`) lie at both ends: a `zero` or two clear them all.
struct WeightClass {
  bool summed_over_tp, written;
  [[nodiscard]] bool has(const Weight& w) const {
    return w.summed_over_tp == summed_over_tp && w.written == written;
  }
};
constexpr WeightClass kWeightOrder[] = {{true, false}, {true, true}, {false, true}, {false, false}};

// Every layer's weights by themselves, its table apart from the others, padded to whole shards. A
// table that several layers have is the first one's.
class PlacementByLayer {
 public:
  PlacementByLayer(StageProgram& stage, const Plan& plan) : stage_(stage), plan_(plan) {}

  void run() {
    for (ChunkProgram& chunk : stage_.chunks) {
      for (LayerInstance& instance : chunk.instances) {
        const LayerProgram& layer = stage_.program(instance);
        instance.slots.resize(layer.weights.size());
        place_table(layer, instance);
        for (const Bucket which : {Bucket::dense, Bucket::expert}) place(layer, instance, which);
      }
    }
  }

 private:
  BucketState& bucket(Bucket which) { return stage_.buckets[static_cast<std::size_t>(which)]; }

  void place_table(const LayerProgram& layer, LayerInstance& instance) {
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      if (!is_table(layer, layer.weights[i])) continue;
      if (!table_) {
        const std::int64_t begin = bucket(Bucket::dense).elements;
        append(layer, layer.weights[i], instance.slots[i]);
        table_ = instance.slots[i];
        close(Bucket::dense, {.begin = begin});
      }
      instance.slots[i] = *table_;
    }
  }

  void place(const LayerProgram& layer, LayerInstance& instance, Bucket which) {
    BucketUnit unit{.begin = bucket(which).elements};
    for (const WeightClass& wanted : kWeightOrder) {
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        const bool here = !w.buffer && w.bucket == which && wanted.has(w);
        if (here && !is_table(layer, w)) append(layer, w, instance.slots[i]);
      }
      if (wanted.summed_over_tp) unit.replicated_elements = bucket(which).elements - unit.begin;
    }
    close(which, unit);
  }

  void append(const LayerProgram& layer, const Weight& w, WeightSlot& slot) {
    BucketState& b = bucket(w.bucket);
    slot = {w.bucket, b.elements};
    b.elements += w.elements;
    if (!read_narrow(layer, w)) return;
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

// Read as the second operand of a product in a narrow type.
bool read_narrow(const LayerProgram& layer, const Weight& w) {
  return std::ranges::any_of(layer.forward, [&w](const Op& op) {
    const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
    return product && op.in.size() > 1 && op.in[1] == w.weight && op.attr.math != DType::fp32 &&
           op.attr.math != DType::bf16;
  });
}

std::size_t bucket_of(const LayerProgram& layer, const Weight& w, const Plan& plan) {
  const auto base = static_cast<std::size_t>(w.bucket);
  return plan.optimizer.kind == OptimizerKind::muon && is_muon_matrix(layer, w) ? base + 2 : base;
}

// What several ranks of tp (etp) hold of a weight: all of it, or the rows of shared key and value
// heads.
void add_copies(BucketState& bucket, const LayerProgram& layer, const Weight& w,
                const WeightSlot& slot, const Plan& plan) {
  std::vector<Copies> found;
  if (w.replicated) {
    found = {{0, w.elements, w.bucket == Bucket::expert ? plan.expert.etp : plan.attention.tp}};
  } else if (w.bucket == Bucket::dense) {
    const std::int64_t rows = layer.tensor(w.weight).shape.front().n;
    found = copies_of(w.cut, rows, w.elements / rows);
  }
  for (Copies& c : found) {
    c.first += slot.offset;
    bucket.copies.push_back(c);
  }
}

// In order, and those of a table that several layers have once.
void sort_copies(BucketState& bucket) {
  std::ranges::sort(bucket.copies, {}, &Copies::first);
  const auto repeated = std::ranges::unique(bucket.copies);
  bucket.copies.erase(repeated.begin(), repeated.end());
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

// What of a bucket's gradients the first microbatch of a step writes. Where they lie in shards, a
// unit's reduction does, if one layer alone has it.
std::vector<ParameterRange> written_gradients(const StageProgram& stage, std::size_t index) {
  const BucketState& b = stage.buckets[index];
  std::vector<ParameterRange> all;
  const auto in_shards = [&](const LayerProgram& layer) {
    return std::ranges::any_of(layer.sharded, [index](const ShardedWeights& s) {
      return static_cast<std::size_t>(s.bucket) == index;
    });
  };
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      const bool shards = in_shards(layer);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        const WeightSlot& slot = instance.slots[i];
        if (w.buffer || static_cast<std::size_t>(slot.bucket) != index) continue;
        if (!shards && w.written) all.push_back({slot.offset, w.elements});
        if (!shards || is_table(layer, w)) continue;
        const auto unit = std::ranges::find_if(b.units, [&slot](const BucketUnit& u) {
          return slot.offset >= u.begin && slot.offset < u.begin + u.elements;
        });
        all.push_back({unit->begin / b.shards, unit->elements / b.shards});
      }
    }
  }
  std::ranges::sort(all, {}, &ParameterRange::first);
  return all;
}

// All others.
std::vector<ParameterRange> cleared_gradients(const StageProgram& stage, std::size_t index) {
  const BucketState& b = stage.buckets[index];
  if (b.elements == 0) return {};
  std::vector<ParameterRange> cleared;
  std::int64_t end = 0;
  const auto clear_until = [&](std::int64_t next) {
    if (next > end) cleared.push_back({end, next - end});
  };
  for (const ParameterRange& written : written_gradients(stage, index)) {
    clear_until(written.first);
    end = std::max(end, written.first + written.elements);
  }
  clear_until(stage.state[b.gradients.index()].elements({}));
  return cleared;
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
  std::optional<WeightSlot> table;  // shared
  const OptimizerPlan& o = plan.optimizer;
  const bool twin_blocks = shares_table && runtime == Runtime::pleat &&
                           (scaled_moment(o.exp_avg) || scaled_moment(o.exp_avg_sq));
  auto place = [&](auto wanted) {
    for_each_weight(stage, plan, [&](const LayerProgram& layer, const Weight& w, WeightSlot& slot) {
      if (w.buffer || !wanted(w)) return;
      const bool shared = is_table(layer, w);
      if (shared && table) {
        slot = *table;
        return;
      }
      const std::size_t index = bucket_of(layer, w, plan);
      BucketState& bucket = stage.buckets[index];
      if (shared && twin_blocks) {
        bucket.elements = in_blocks(bucket.elements);
        bucket.twin_table = ParameterRange{bucket.elements, w.elements};
      }
      slot = {static_cast<Bucket>(index), bucket.elements};
      bucket.elements += w.elements;
      if (narrow_copies && read_narrow(layer, w)) {
        slot.narrow = bucket.narrow_elements;
        bucket.narrow_elements += w.elements;
      }
      if (shared) table = slot;
    });
  };
  const bool by_layer = runtime == Runtime::pleat && (plan.sharding == Sharding::zero2 ||
                                                      plan.sharding == Sharding::zero3);
  if (by_layer) {
    PlacementByLayer(stage, plan).run();
  } else {
    for (const WeightClass& wanted : kWeightOrder) {
      place([&wanted](const Weight& w) { return wanted.has(w); });
      if (!wanted.summed_over_tp) continue;
      for (BucketState& bucket : stage.buckets) bucket.replicated_elements = bucket.elements;
    }
  }
  const auto note_copies = [&](const LayerProgram& layer, const Weight& w, const WeightSlot& slot) {
    if (w.buffer) return;
    BucketState& bucket = stage.buckets[static_cast<std::size_t>(slot.bucket)];
    add_copies(bucket, layer, w, slot, plan);
  };
  for_each_weight(stage, plan, note_copies);
  for (BucketState& bucket : stage.buckets) sort_copies(bucket);

  cut_shards(stage, plan);
  for (bool loads : {false, true}) {
    for_each_weight(stage, plan, [&](const LayerProgram& layer, const Weight& w, WeightSlot& slot) {
      if (!w.buffer || is_load(layer, w) != loads) return;
      BucketState& b = stage.buckets[static_cast<std::size_t>(w.bucket)];
      slot = {w.bucket, b.shards * b.shard_elements + b.buffer_elements};
      b.buffer_elements += w.elements;
      if (!loads) b.bias_elements += w.elements;
    });
  }
  add_buckets_state(stage, model, plan, runtime);
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    stage.buckets[i].cleared = cleared_gradients(stage, i);
  }
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
