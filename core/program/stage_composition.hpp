// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which layers each stage holds: the plan's layout spelled out, with one variant for all layers
// that compile to the same program.
#pragma once

#include <compare>
#include <vector>

#include "core/program/layer_builder.hpp"

namespace pleat {

// A decoder layer that is recomputed together with the one before.
struct UnitLayer {
  bool moe = false;
  LayerTraits traits = {};
  int loads = -1;  // as LayerVariant's
  auto operator<=>(const UnitLayer&) const = default;
};

// What tells the layers of one model and plan apart.
struct LayerVariant {
  LayerKind kind = LayerKind::dense;
  bool moe = false;       // mtp: its decoder layer is MoE
  bool wide = false;      // boundary or head after MTP: the rows of its depths too
  bool recompute = true;  // as the plan says; false: beyond the first recompute_layers
  bool offload = false;   // among the first offload_layers
  LayerTraits traits = {};  // of a decoder layer
  std::vector<UnitLayer> more = {};  // the further layers of its unit of recompute
  int depth = 0;                     // mtp: which
  int loads = -1;  // of its experts, in WorkloadSpec::expert_loads; -1: not known
  auto operator<=>(const LayerVariant&) const = default;
};

// As LayerProgram::loads; and the variant without them, whose program is the same but for them.
[[nodiscard]] std::vector<int> loads_of(const LayerVariant&);
[[nodiscard]] LayerVariant without_loads(LayerVariant);

struct PlacedLayer {
  int variant = 0;   // index into StageComposition::variants
  LayerIndex layer;  // as LayerInstance::layer
};

struct StageComposition {
  std::vector<LayerVariant> variants;            // distinct, in order of first use
  std::vector<std::vector<PlacedLayer>> chunks;  // of the stage, each in forward order
  // The stages that hold a copy of the embedding table whose gradients are added up with this
  // one's, this one among them, in order; none: no other stage does.
  std::vector<Stage> table_stages;
};

// A decoder layer, or a prediction depth from 0, as a plan that gives up nothing has it.
[[nodiscard]] LayerVariant decoder_variant(const ModelSpec&, const WorkloadSpec&,
                                           std::int64_t layer);
[[nodiscard]] LayerVariant prediction_variant(const ModelSpec&, const WorkloadSpec&,
                                              std::int64_t depth);

// Of every stage. The layout must be valid.
[[nodiscard]] std::vector<StageComposition> compose_stages(const ModelSpec&, const WorkloadSpec&,
                                                           const Plan&);

// Whether two stages hold the same variants in the same places: they cost the same.
[[nodiscard]] bool same_layers(const StageComposition&, const StageComposition&);

// The program of one variant, all passes applied (passes/layer_passes.cpp lists them).
[[nodiscard]] LayerProgram compile_layer(const LocalShape&, Runtime, const LayerVariant&);

}  // namespace pleat
