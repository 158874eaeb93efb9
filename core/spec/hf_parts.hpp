// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parts of a Hugging Face config.json: experts, layers that are not all alike, rotary positions.
#pragma once

#include <vector>

#include "core/spec/hf_family.hpp"
#include "core/spec/hf_fields.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// The Mixture-of-Experts part of a Hugging Face config: experts, router, and which layers have
// them.

// Limits of what is read (docs/FORMATS.md).
inline constexpr IntRange kLayerRange{1, 10'000};
inline constexpr IntRange kExpertRange{1, 65'536};
inline constexpr IntRange kHiddenRange{1, 1 << 20};
inline constexpr IntRange kWidthRange{1, 1 << 24};

// One of `names` a layer, as an index into them.
[[nodiscard]] std::vector<std::size_t> words_of_layers(ObjectReader&, const std::string& name,
                                                       std::int64_t layers,
                                                       const std::vector<std::string>& names);

[[nodiscard]] MoeSpec read_hf_moe(HfFields&, const HfFamily&);

// Which of the layers are MoE, by whichever of the families' fields the file has.
[[nodiscard]] std::vector<bool> read_hf_moe_layers(HfFields&, std::int64_t layers);

// Layers that are not all alike in a Hugging Face config: windows, sparse attention, recurrences.
// One function a way of saying it; each fills the layer traits and the specs they need.

// `sliding_window`, on the layers that `layer_types` calls sliding_attention, or on all.
void read_windows(HfFields&, ModelSpec&);
// The same where use_sliding_window says so.
void read_windows_if_used(HfFields&, ModelSpec&);
// Llama 4: chunks of attention_chunk_size, except in every fourth layer.
void read_chunks(HfFields&, ModelSpec&);
// Gemma 4: the full layers have another shape than the sliding ones.
void read_gemma_layers(HfFields&, ModelSpec&);
// MiMo-V2: hybrid_layer_pattern, and swa_* for the shape of the sliding layers.
void read_mimo_layers(HfFields&, ModelSpec&);
// Qwen3-Next and 3.5: gated DeltaNet, with attention in every full_attention_interval-th layer.
void read_delta_net_layers(HfFields&, ModelSpec&);
// Kimi Linear and K3: Kimi Delta Attention where linear_attn_config lists it.
void read_kimi_layers(HfFields&, ModelSpec&);
// Nemotron-H: one letter a layer, M Mamba-2, * attention, - MLP, E experts. Sets moe_layer too.
void read_nemotron_h_layers(HfFields&, ModelSpec&);
// Jamba: Mamba-1, attention in every attn_layer_period-th layer.
void read_jamba_layers(HfFields&, ModelSpec&);
// Granite 4: Mamba-2 or attention, each with experts or an MLP. Granite 3 has multipliers alone.
void read_granite_hybrid_layers(HfFields&, ModelSpec&);
void leave_out_multipliers(HfFields&, ModelSpec&);
// LFM2: short convolutions.
void read_lfm2_layers(HfFields&, ModelSpec&);
// What one family alone has. Left out, and said: clip_qkv of OLMoE, biases of Phi's head and
// ERNIE's MLPs, norms after the rotation and shared keys of Hunyuan, the norm of Ling's head.
// ERNIE's rotary positions pair neighbours.
void read_ernie_parts(HfFields&, ModelSpec&);
void leave_out_hunyuan_parts(HfFields&, ModelSpec&);
void leave_out_clipping(HfFields&, ModelSpec&);
void read_phi_parts(HfFields&, ModelSpec&);
void read_bailing_parts(HfFields&, ModelSpec&);
// DBRX: parts of the config in attn_config and ffn_config.
void read_dbrx(HfFields&, ModelSpec&);
// DeepSeek-V3.2 and GLM-5: an indexer in every layer, or where indexer_types says "full".
void read_indexed_layers(HfFields&, ModelSpec&);
// MiniMax-M3: blocks of keys picked by an indexer where sparse_attention_freq says so.
void read_sparse_block_layers(HfFields&, ModelSpec&);
// DeepSeek-V4: compress_ratios, a window in every layer, hyper-connections.
void read_compressed_layers(HfFields&, ModelSpec&);

// Rotary positions in a config.json: rope_theta with rope_scaling, or rope_parameters.

// `kind` and the heads' sizes are known.
void read_hf_rope(HfFields&, AttentionSpec&);

}  // namespace pleat
