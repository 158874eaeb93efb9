// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which rows of a Hugging Face checkpoint's tensors make up each weight of Pleat. Weights of linear
// layers are [out, in] in both. Pleat packs q, k and v into one weight, and gate and up. Rows of
// rotary dimensions keep their order: where a model rotates pairs of neighbours, the kernels do so,
// too (AttentionSpec::rope_interleaved).
#pragma once

#include <string>
#include <vector>

#include "core/spec/model.hpp"

namespace pleat {

// Where rows lie in the checkpoint: a tensor, and the element at which they begin.
struct HfPlace {
  std::string tensor;
  std::vector<std::int64_t> shape;
  std::int64_t first = 0;
};

// Consecutive rows of a weight.
struct HfRows {
  std::int64_t rows = 0;
  // Where the rows may be. They are looked for in this order, and written to the first place.
  std::vector<HfPlace> places;
};

struct HfWeight {
  std::string name;  // "layers.3.experts.5.fc1"
  std::int64_t rows = 0;
  std::int64_t columns = 1;   // vectors have one
  std::vector<HfRows> parts;  // in order; their rows add up

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

// Throws ConfigError (bad_request) for families whose names are not known, or whose weights would
// mean something else in transformers; it says what.
void require_known_weights(const ModelSpec&);

// All weights of the model, by global name. Throws as require_known_weights does.
[[nodiscard]] std::vector<HfWeight> hf_weight_map(const ModelSpec&);

}  // namespace pleat
