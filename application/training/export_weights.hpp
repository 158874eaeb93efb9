// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Weights as a Hugging Face model folder.
#pragma once

#include <cstdint>
#include <string>

namespace pleat {

struct ExportWeightsOptions {
  std::string model;           // name or config.json
  std::string from;            // a Hugging Face folder whose weights are written anew
  std::string checkpoint;      // one of ours, of that model
  std::uint64_t seed = 1234;   // else the weights that training starts from
  std::string dtype = "fp32";  // fp32, bf16 or fp16
  double shard_gb = 5;         // bytes of a file, in 10^9
  std::string folder;          // new, or empty
};

// `pleat export-weights`.
void export_weights(const ExportWeightsOptions&);

}  // namespace pleat
