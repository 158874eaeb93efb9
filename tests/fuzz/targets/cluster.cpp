// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Cluster and GPU files: both readers see every input.
#include "core/diagnostics.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/gpu_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const std::string text(input);
  try {
    require(read_gpu(text, "gpu.json").memory.base() > 0, "a GPU without memory");
  } catch (const ConfigError&) {
    const ClusterSpec cluster = read_cluster(text, "cluster.json");
    require(!cluster.tiers.empty() && cluster.gpus_per_node > 0, "a cluster without a network");
  }
}

}  // namespace pleat::fuzz
