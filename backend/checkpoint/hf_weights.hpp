// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Weights from and to Hugging Face checkpoints, by our global names.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/checkpoint/hf_weight_map.hpp"
#include "backend/checkpoint/weight_folder.hpp"

namespace pleat {

// The weights in a folder, for one model.
class HfWeights {
 public:
  // Throws ConfigError (bad_file) naming every weight that is missing or has another shape or a
  // type without plain values, and every tensor that the model has no place for.
  HfWeights(const std::string& folder, const ModelSpec&);

  // The whole weight as fp32. Throws ConfigError (bad_file) when there is none of that name or
  // size.
  void read(const std::string& name, std::span<float> out) const;

 private:
  struct Part {
    HfRows rows;
    HfPlace place;
    WeightFolder::Found found, scales;  // scales: of FP8 in blocks of 128 x 128
  };
  struct Located {
    HfWeight weight;
    std::vector<Part> parts;
  };
  void read_part(const Part&, std::int64_t columns, std::span<float> out) const;

  WeightFolder files_;
  std::map<std::string, Located> weights_;
};

struct HfExport {
  ElementType type = ElementType::f32;  // F32, BF16 or F16
  std::uint64_t shard_bytes = std::uint64_t{5} << 30;
};
// Writes a model's weights into the folder, which exists. `read` gives a whole weight by its name.
void export_hf_weights(const std::string& folder, const ModelSpec&, const HfExport&,
                       const std::function<void(const std::string& name, std::span<float>)>& read);

}  // namespace pleat
