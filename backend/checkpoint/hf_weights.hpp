// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads weights from Hugging Face checkpoints and writes them there, by Pleat's global names.
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
  // Throws ConfigError (bad_file), which names every weight that is missing, has another shape or
  // has a type that cannot be read, and every tensor for which the model has no place.
  HfWeights(const std::string& folder, const ModelSpec&);

  // Reads a whole weight as fp32. Throws ConfigError (bad_file) if there is none of that name and
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
// Writes the weights of a model into a folder, which must exist. `read` gives a whole weight by
// name.
void export_hf_weights(const std::string& folder, const ModelSpec&, const HfExport&,
                       const std::function<void(const std::string& name, std::span<float>)>& read);

}  // namespace pleat
