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

void walk_op(const StageProgram& stage, const std::vector<LayerEvents>& events, const Slot& slot,
             int position, std::size_t k, StepVisitor& visitor) {
  const LayerInstance& instance =
      stage.chunks[slot.chunk.index()].instances[static_cast<std::size_t>(position)];
  const LayerProgram& layer = stage.program(instance);
  const LayerEvents& e = events[static_cast<std::size_t>(instance.program)];
  const int pass = static_cast<int>(slot.pass);
  const OpSite site{&layer.ops(slot.pass)[k], &layer,   &instance, slot.microbatch,
                    slot.chunk,               position, slot.pass, static_cast<int>(k)};
  if (slot.pass == Pass::backward && k == 0) {
    for (TensorId t : e.kept) visitor.on_unstash(site, resolve(stage, site, t), layer.tensor(t));
  }
  for (TensorId t : e.births[pass][k])
    visitor.on_birth(site, resolve(stage, site, t), layer.tensor(t));
  visitor.on_op(site);
  for (TensorId t : e.deaths[pass][k])
    visitor.on_death(site, resolve(stage, site, t), layer.tensor(t));
  if (slot.pass == Pass::forward && k + 1 == layer.forward.size()) {
    for (TensorId t : e.kept) visitor.on_stash(site, resolve(stage, site, t), layer.tensor(t));
  }
}

void walk_layer(const StageProgram& stage, const std::vector<LayerEvents>& events, const Slot& slot,
                int position, StepVisitor& visitor) {
  const auto& instances = stage.chunks[slot.chunk.index()].instances;
  const OpRange range =
      ops_of(stage.program(instances[static_cast<std::size_t>(position)]), slot);
  for (std::size_t k = range.begin; k < range.end; ++k) {
    walk_op(stage, events, slot, position, k, visitor);
  }
}

void walk_pair(const StageProgram& stage, const std::vector<LayerEvents>& events,
               const Slot& forward, const Slot& backward, StepVisitor& visitor) {
  const auto program_at = [&](const Slot& slot, int position) -> const LayerProgram& {
    const auto& instances = stage.chunks[slot.chunk.index()].instances;
    return stage.program(instances[static_cast<std::size_t>(position)]);
  };
  PLEAT_ASSERT(backward.part == SlotPart::whole);
  for (const PairedPosition& at : pair_positions(stage, forward.chunk, backward.chunk)) {
    if (at.forward < 0) {
      walk_layer(stage, events, backward, at.backward, visitor);
    } else if (at.backward < 0) {
      walk_layer(stage, events, forward, at.forward, visitor);
    } else {
      for (const PairStep& step :
           pair_layers(program_at(forward, at.forward), program_at(backward, at.backward),
                       stage.delay_wgrad)) {
        const bool f = step.pass == Pass::forward;
        walk_op(stage, events, f ? forward : backward, f ? at.forward : at.backward,
                static_cast<std::size_t>(step.op), visitor);
      }
    }
  }
}

}  // namespace

void walk_slot(const StageProgram& stage, const std::vector<LayerEvents>& events, const Slot& slot,
               StepVisitor& visitor) {
  const int count = static_cast<int>(stage.chunks[slot.chunk.index()].instances.size());
  for (int i = 0; i < count; ++i) {
    walk_layer(stage, events, slot, slot.pass == Pass::forward ? i : count - 1 - i, visitor);
  }
}

void walk_step(const StageProgram& stage, StepVisitor& visitor) {
  std::vector<LayerEvents> events;
  events.reserve(stage.layers.size());
  for (const LayerProgram& layer : stage.layers) events.push_back(layer_events(layer));
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    if (!stage.order[i].with_next) {
      walk_slot(stage, events, stage.order[i], visitor);
      continue;
    }
    PLEAT_ASSERT(i + 1 < stage.order.size());
    walk_pair(stage, events, stage.order[i], stage.order[i + 1], visitor);
    ++i;
  }
}

}  // namespace pleat
