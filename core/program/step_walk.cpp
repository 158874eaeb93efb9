// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Execution order of a stage's step, and which tensor instance each operand is.
#include "core/program/step_walk.hpp"

#include "core/program/pair_positions.hpp"
#include "core/program/passes/pair.hpp"

namespace pleat {

LayerEvents layer_events(const LayerProgram& layer) {
  LayerEvents events;
  for (Pass pass : {Pass::forward, Pass::backward}) {
    events.births[static_cast<int>(pass)].resize(layer.ops(pass).size());
    events.deaths[static_cast<int>(pass)].resize(layer.ops(pass).size());
  }
  for (const Lifetime& life : layer.lives) {
    if (life.begin) {
      events.births[static_cast<int>(life.begin->pass)][static_cast<std::size_t>(life.begin->op)]
          .push_back(life.tensor);
    }
    if (life.end) {
      events.deaths[static_cast<int>(life.end->pass)][static_cast<std::size_t>(life.end->op)]
          .push_back(life.tensor);
    }
    const bool kept = life.begin && life.begin->pass == Pass::forward && life.end &&
                      life.end->pass == Pass::backward;
    if (kept && layer.tensor(life.tensor).is_routed()) events.kept.push_back(life.tensor);
  }
  return events;
}

InstanceKey resolve(const StageProgram& stage, const OpSite& site, TensorId tensor) {
  InstanceKey key{site.microbatch.value, site.chunk.value, site.position, tensor};
  const auto& instances = stage.chunks[site.chunk.index()].instances;
  if (tensor == site.program->input) {
    PLEAT_ASSERT(site.position > 0);
    key.position = site.position - 1;
    key.tensor = *stage.program(instances[static_cast<std::size_t>(key.position)]).output;
  } else if (tensor == site.program->grad_output) {
    key.position = site.position + 1;
    PLEAT_ASSERT(static_cast<std::size_t>(key.position) < instances.size());
    key.tensor = *stage.program(instances[static_cast<std::size_t>(key.position)]).grad_input;
  }
  return key;
}

OpRange ops_of(const LayerProgram& layer, const Slot& slot) {
  const std::size_t count = layer.ops(slot.pass).size();
  if (slot.pass == Pass::forward || slot.part == SlotPart::whole) return {0, count};
  PLEAT_ASSERT(layer.weight_ops.has_value());
  const auto cut = static_cast<std::size_t>(*layer.weight_ops);
  return slot.part == SlotPart::input_gradients ? OpRange{0, cut} : OpRange{cut, count};
}

namespace {

class Walk {
 public:
  Walk(const StageProgram& stage, StepVisitor& visitor)
      : stage_(stage), visitor_(visitor), begun_(2 * stage.chunks.size()) {
    events_.reserve(stage.layers.size());
    for (const LayerProgram& layer : stage.layers) events_.push_back(layer_events(layer));
  }

  void slot(const Slot& s) {
    const int count = static_cast<int>(stage_.chunks[s.chunk.index()].instances.size());
    for (int i = 0; i < count; ++i) {
      layer(s, s.pass == Pass::forward ? i : count - 1 - i);
    }
    end(s);
  }

  // Slots that run together (expert overlap) go pair of layers by pair of layers.
  void pair(const Slot& forward, const Slot& backward) {
    PLEAT_ASSERT(backward.part == SlotPart::whole);
    for (const PairedPosition& at : pair_positions(stage_, forward.chunk, backward.chunk)) {
      if (at.forward < 0) {
        layer(backward, at.backward);
      } else if (at.backward < 0) {
        layer(forward, at.forward);
      } else {
        for (const PairStep& step :
             pair_layers(program_at(forward, at.forward), program_at(backward, at.backward),
                         stage_.delay_wgrad)) {
          const bool f = step.pass == Pass::forward;
          op(f ? forward : backward, f ? at.forward : at.backward,
             static_cast<std::size_t>(step.op));
        }
      }
    }
    end(backward);
  }

 private:
  [[nodiscard]] const LayerInstance& instance_at(const Slot& s, int position) const {
    return stage_.chunks[s.chunk.index()].instances[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] const LayerProgram& program_at(const Slot& s, int position) const {
    return stage_.program(instance_at(s, position));
  }

  void layer(const Slot& s, int position) {
    const OpRange range = ops_of(program_at(s, position), s);
    for (std::size_t k = range.begin; k < range.end; ++k) op(s, position, k);
  }

  void op(const Slot& slot, int position, std::size_t k) {
    const LayerInstance& instance = instance_at(slot, position);
    const LayerProgram& layer = stage_.program(instance);
    const LayerEvents& e = events_[static_cast<std::size_t>(instance.program)];
    const int pass = static_cast<int>(slot.pass);
    const OpSite site{&layer.ops(slot.pass)[k], &layer, &instance, slot.microbatch, slot.chunk,
                      position, slot.pass, static_cast<int>(k), is_first(slot, layer, k)};
    if (slot.pass == Pass::backward && k == 0) {
      for (TensorId t : e.kept) {
        visitor_.on_unstash(site, resolve(stage_, site, t), layer.tensor(t));
      }
    }
    for (TensorId t : e.births[pass][k]) {
      visitor_.on_birth(site, resolve(stage_, site, t), layer.tensor(t));
    }
    visitor_.on_op(site);
    for (TensorId t : e.deaths[pass][k]) {
      visitor_.on_death(site, resolve(stage_, site, t), layer.tensor(t));
    }
    if (slot.pass == Pass::forward && k + 1 == layer.forward.size()) {
      for (TensorId t : e.kept) visitor_.on_stash(site, resolve(stage_, site, t), layer.tensor(t));
    }
  }

  // Where backward passes are split, the parts begin with microbatches of their own.
  [[nodiscard]] std::size_t part_of(ChunkId chunk, bool weights) const {
    return 2 * chunk.index() + (weights ? 1 : 0);
  }
  [[nodiscard]] bool is_first(const Slot& s, const LayerProgram& layer, std::size_t k) const {
    if (s.pass == Pass::forward) return false;
    const bool weights = layer.weight_ops && k >= static_cast<std::size_t>(*layer.weight_ops);
    return !begun_[part_of(s.chunk, weights)];
  }
  void end(const Slot& s) {
    if (s.pass == Pass::forward) return;
    for (const bool weights : {false, true}) {
      const SlotPart other = weights ? SlotPart::input_gradients : SlotPart::weight_gradients;
      if (s.part != other) begun_[part_of(s.chunk, weights)] = true;
    }
  }

  const StageProgram& stage_;
  StepVisitor& visitor_;
  std::vector<LayerEvents> events_;
  std::vector<bool> begun_;  // by chunk and part of its backward passes
};

}  // namespace

void walk_step(const StageProgram& stage, StepVisitor& visitor) {
  Walk walk(stage, visitor);
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    if (!stage.order[i].with_next) {
      walk.slot(stage.order[i]);
      continue;
    }
    PLEAT_ASSERT(i + 1 < stage.order.size());
    walk.pair(stage.order[i], stage.order[i + 1]);
    ++i;
  }
}

}  // namespace pleat
