// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Small models with one feature each, for the tests that run all of them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/small_models.hpp"

namespace pleat::test {

struct ModelCase {
  std::string name;
  ModelSpec model;
  friend std::ostream& operator<<(std::ostream& out, const ModelCase& c) { return out << c.name; }
};

// GPT-2's parts: LayerNorm, learned positions, biases everywhere, GELU, one table.
inline ModelSpec small_gpt() {
  ModelSpec m = small_moe();
  m.moe.reset();
  m.moe_layer.assign(4, false);
  m.norm = NormKind::layer_norm;
  m.learned_positions = 20;
  m.attention.qkv_bias = m.attention.out_bias = m.mlp_bias = true;
  m.activation = Activation::gelu;
  m.gated_mlp = false;
  m.tied_embeddings = true;
  return m;
}

// gpt-oss's parts: experts, router and attention with biases, a clamped activation, sinks, windows
// in every other layer.
inline ModelSpec small_oss() {
  ModelSpec m = small_moe();
  m.name = "small-oss";
  m.moe_layer.assign(4, true);
  m.moe->shared_ffn = 0;
  m.moe->mlp_bias = m.moe->router_bias = true;
  m.activation = Activation::clamped_swiglu;
  m.attention.qkv_bias = m.attention.out_bias = m.attention.sinks = true;
  LayerTraits window;
  window.window = 5;
  m.layer_traits = {window, {}, window, {}};
  return m;
}

inline ModelSpec with_losses(ModelSpec m) {
  m.moe->aux_loss = 0.02;
  m.moe->seq_aux_loss = 0.05;
  m.moe->z_loss = 0.01;
  return m;
}

inline ModelSpec with_depth(ModelSpec m, int depths = 1) {
  m.mtp_layers = depths;
  m.mtp_loss = 0.3;
  return m;
}

inline ModelSpec with_bias_update(ModelSpec m) {
  m.moe->expert_bias = true;
  m.moe->bias_update = 0.05;
  return m;
}

inline std::vector<ModelCase> model_cases() {
  ModelSpec biased = small_moe(), qk_norm = small_moe(), rope = small_moe(), values = small_moe();
  biased.attention.qkv_bias = biased.attention.out_bias = biased.mlp_bias = true;
  biased.moe->router_bias = true;
  qk_norm.attention.qk_norm = true;
  qk_norm.moe->shared_gate = true;
  rope.attention.rotary_dim = 4;
  rope.attention.rope_interleaved = true;
  rope.attention.rope_scaling = {.rule = RopeRule::yarn,
                                 .factor = 4,
                                 .original_positions = 8,
                                 .magnitude = 1.1,
                                 .scores = 1.2};
  values.attention.v_head_dim = 12;
  values.attention.output_gate = true;
  ModelSpec gelu = small_moe(), relu = small_moe(), latent = small_moe(), tied = small_moe();
  ModelSpec plain_gelu = small_moe(), gated_relu = small_moe();
  plain_gelu.activation = Activation::gelu;
  plain_gelu.gated_mlp = false;
  gated_relu.activation = Activation::squared_relu;
  ModelSpec norms = small_moe();
  norms.norms_per_layer = 4;
  gelu.activation = Activation::gelu;
  relu.activation = Activation::squared_relu;
  relu.gated_mlp = false;
  latent.moe->latent = 16;
  latent.moe->latent_norm = true;
  tied.tied_embeddings = true;
  return {{"Biases", biased},
          {"HeadNormsAndSharedGate", qk_norm},
          {"ScaledPartialRope", rope},
          {"WideValuesAndOutputGate", values},
          {"GatedGelu", gelu},
          {"SquaredRelu", relu},
          {"PlainGelu", plain_gelu},
          {"GatedSquaredRelu", gated_relu},
          {"Oss", small_oss()},
          {"FurtherNorms", norms},
          {"LatentExperts", latent},
          {"TiedTable", tied},
          {"Gpt", small_gpt()},
          {"RouterLosses", with_losses(small_moe())},
          {"RouterLossesOfSigmoids", with_losses(small_mla())},
          {"BiasUpdate", with_bias_update(small_moe())},
          {"Depth", with_depth(small_mla())},
          {"ThreeDepths", with_depth(with_losses(small_moe()), 3)},
          {"TiedDepthWithAll", with_depth(with_losses(with_bias_update(tied)))}};
}

}  // namespace pleat::test
