// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tensors of a Hugging Face checkpoint make up which weight of ours, row by row. Weights of
// linear layers are [out, in] on both sides; ours pack q, k and v, and gate and up. Rotary rows
// stay where they are: the kernels pair neighbours where the model does
// (AttentionSpec::rope_interleaved).
#pragma once

#include <string>
#include <vector>

#include "core/spec/model.hpp"

namespace pleat {

// A tensor of the checkpoint and the element in it where the rows begin.
struct HfPlace {
  std::string tensor;
  std::vector<std::int64_t> shape;
  std::int64_t first = 0;
};

// Consecutive rows of a weight.
struct HfRows {
  std::int64_t rows = 0;
  // Where they may be, in the order they are looked for; the first is how they are written.
  std::vector<HfPlace> places;
};

struct HfWeight {
  std::string name;  // "layers.3.experts.5.fc1"
  std::int64_t rows = 0;
  std::int64_t columns = 1;   // vectors have one
  std::vector<HfRows> parts;  // in order; their rows add up

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

// Every weight of the model by its global name. Throws ConfigError (bad_request) for families whose
// names it does not know: known are llama, mistral, mixtral, qwen2, qwen3, qwen2_moe, qwen3_moe,
// deepseek_v2, deepseek_v3 and kimi_k2.
[[nodiscard]] std::vector<HfWeight> hf_weight_map(const ModelSpec&);

}  // namespace pleat
