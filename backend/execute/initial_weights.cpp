// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/initial_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/main_params.hpp"
#include "backend/execute/sharded_layers.hpp"
#include "backend/init.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
namespace {

// What reads or changes weights sees the whole tensor, of which this rank keeps its part.
void initialise(const TrainConfig& config, const NamedPart& p, InitialValue value, View part) {
  std::vector<float> whole;
  if (config.read_weight || config.adjust_weight) {
    whole.resize(static_cast<std::size_t>(p.whole));
    if (config.read_weight) {
      config.read_weight(p.name, whole);
    } else {
      fill_initial(value, p.name, config.seed, 0, whole);
    }
    if (config.adjust_weight) config.adjust_weight(p.name, whole);
  }
  std::vector<float> values;
  for (const WeightRun& piece : p.runs) {
    const auto first = static_cast<std::size_t>(piece.whole);
    const auto count = static_cast<std::size_t>(piece.elements);
    values.resize(count);
    if (whole.empty()) {
      fill_initial(value, p.name, config.seed, piece.whole, values);
    } else {
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(first), count, values.begin());
    }
    set_values(elements_of(part, piece.local, piece.elements), values);
  }
}

}  // namespace

void initialise_weights(Execution& run) {
  const WeightRank mine = weight_rank(run.program.plan, run.ranks.rank());
  for (const ChunkProgram& chunk : run.stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = run.stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const Weight& weight = layer.weights[w];
        if (is_load(layer, weight)) continue;  // counted anew in every step
        const Tensor& tensor = layer.tensor(weight.weight);
        const bool in_shards = run.shards.weights_in_shards() && !weight.buffer;
        const View kept =
            in_shards ? View{nullptr, tensor.dtype, tensor.rows({}), tensor.columns({})}
                      : run.store.parameter(
                            instance.slots[w], tensor,
                            weight.buffer ? BucketPart::buffers : BucketPart::weights, "init");
        const bool elsewhere = in_shards || run.device.hidden(kept.data);
        std::vector<std::byte> whole(elsewhere ? static_cast<std::size_t>(tensor.bytes({}))
                                               : std::size_t{0});
        View view = kept;
        if (elsewhere) view.data = whole.data();
        const InitialValue value = initial_value(layer, weight);
        for (const NamedPart& p : named_parts(layer, instance, weight, mine)) {
          initialise(run.config, p, value, elements_of(view, p.offset, p.elements));
        }
        if (in_shards) {
          keep_in_shards(instance.slots[w], view, run);
        } else if (elsewhere) {
          run.device.copy(kept.data, view.data, byte_count(view));
        }
      }
    }
  }
  refresh_host_weights(run);
  initialise_main_params(run);
}

}  // namespace pleat::execute
