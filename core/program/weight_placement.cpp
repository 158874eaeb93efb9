// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/weight_placement.hpp"

#include <algorithm>
#include <optional>

#include "core/plan/rank_map.hpp"
#include "core/program/amax_buffers.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

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

// Every layer's weights by themselves, its table apart from the others, padded to whole shards. A
// table that several layers have is the first one's.
class PlacementByLayer {
 public:
  PlacementByLayer(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                   const Plan& plan)
      : stage_(stage), weights_(weights), plan_(plan) {}

  void run() {
    for (ChunkProgram& chunk : stage_.chunks) {
      for (LayerInstance& instance : chunk.instances) {
        const PlacedWeights& weights = weights_[static_cast<std::size_t>(instance.program)];
        instance.slots.resize(weights.count);
        place_table(weights, instance);
        for (const Bucket which : {Bucket::dense, Bucket::expert}) place(weights, instance, which);
      }
    }
  }

 private:
  BucketState& bucket(Bucket which) { return stage_.buckets[static_cast<std::size_t>(which)]; }

  void place_table(const PlacedWeights& weights, LayerInstance& instance) {
    for (const std::vector<PlacedWeight>& list : weights.parameters) {
      for (const PlacedWeight& w : list) {
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
    for (std::size_t c = 0; c < kWeightClasses; ++c) {
      if (c == kSummedClasses) unit.replicated_elements = bucket(which).elements - unit.begin;
      append_all(weights.parameters[c]);
    }
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

}  // namespace

void place_parameters(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                      const Plan& plan, bool shares_table) {
  const OptimizerPlan& o = plan.optimizer;
  const bool twin_blocks =
      shares_table && (scaled_moment(o.exp_avg) || scaled_moment(o.exp_avg_sq));
  std::optional<WeightSlot> table;  // shared
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
  for (std::size_t c = 0; c < kWeightClasses; ++c) {
    for (BucketState& b : stage.buckets) {
      if (c == kSummedClasses) b.replicated_elements = b.elements;
    }
    for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
      slots.resize(of.count);
      for (const PlacedWeight& w : of.parameters[c]) place(w, slots[w.weight]);
    });
  }
  note_copies(stage, weights, plan);
}

void place_by_layer(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                    const Plan& plan) {
  PlacementByLayer(stage, weights, plan).run();
  note_copies(stage, weights, plan);
}

void place_buffers(StageProgram& stage, const std::vector<PlacedWeights>& weights,
                   const Plan& plan) {
  const auto place = [&](const PlacedWeight& w, WeightSlot& slot) {
    BucketState& b = stage.buckets[w.bucket];
    slot = {static_cast<Bucket>(w.bucket), b.shards * b.shard_elements + b.buffer_elements};
    b.buffer_elements += w.elements;
  };
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
    for (const PlacedWeight& w : of.biases) place(w, slots[w.weight]);
  });
  for (BucketState& b : stage.buckets) b.bias_elements = b.buffer_elements;
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
    for (const PlacedWeight& w : of.loads) place(w, slots[w.weight]);
  });
  for_each_instance(stage, weights, plan, [&](const PlacedWeights& of, auto& slots) {
    for (const PlacedWeight& w : of.amax) {
      place(w, slots[w.weight]);
      stage.buckets[w.bucket].amax_elements += w.elements;
    }
  });
  for (BucketState& b : stage.buckets) {
    b.buffer_elements += all_amax_elements(b.amax_elements) - b.amax_elements;
  }
}

void count_weights(StageProgram& stage, const Plan& plan, bool narrow) {
  std::vector<std::int64_t> instances(stage.layers.size());  // of each layer program
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& i : chunk.instances) {
      ++instances[static_cast<std::size_t>(i.program)];
    }
  }
  bool table = false;  // counted
  for (std::size_t l = 0; l < stage.layers.size(); ++l) {
    const LayerProgram& layer = stage.layers[l];
    const std::vector<bool> narrow_read = narrow ? read_narrow(layer) : std::vector<bool>{};
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const Weight& w = layer.weights[i];
      BucketState& b = stage.buckets[bucket_of(layer, w, plan)];
      std::int64_t elements = instances[l] * w.elements;
      if (w.buffer) {
        b.buffer_elements += elements;
        if (!is_load(layer, w)) b.bias_elements += elements;
        continue;
      }
      if (is_table(layer, w)) {
        elements = table ? 0 : w.elements;
        table = true;
      }
      b.elements += elements;
      if (w.summed_over_tp) b.replicated_elements += elements;
      if (narrow && narrow_read[i]) b.narrow_elements += elements;
    }
  }
}

}  // namespace pleat
