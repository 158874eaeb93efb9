// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/initial_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/main_params.hpp"
#include "backend/execute/sharded_layers.hpp"
#include "backend/init.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/amax_buffers.hpp"
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

// Random numbers where they are kept, in a device's memory: the host makes none of them. What no
// part of the weight has is padding.
void make_on_device(const WeightSlot& slot, View kept, bool in_shards,
                    const std::vector<NamedPart>& parts, Execution& run) {
  using Places = std::function<void(View, std::int64_t)>;
  const auto where = [&](std::int64_t first, std::int64_t count, const Places& f) {
    if (in_shards) return for_each_kept(slot, first, count, run, f);
    f(elements_of(kept, first, count), 0);
  };
  where(0, kept.elements(), [&](View place, std::int64_t) { run.kernels.zero(place); });
  for (const NamedPart& p : parts) {
    const std::uint64_t key = random_key(p.name, run.config.seed);
    for (const WeightRun& piece : p.runs) {
      where(p.offset + piece.local, piece.elements, [&](View place, std::int64_t after) {
        run.kernels.fill_normal(key, piece.whole + after, kInitStd, place);
      });
    }
  }
}

}  // namespace

void initialise_weights(Execution& run) {
  const bool reads_or_changes = run.config.read_weight || run.config.adjust_weight;
  const WeightRank mine = weight_rank(run.program.plan, run.ranks.rank());
  for (const ChunkProgram& chunk : run.stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = run.stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const Weight& weight = layer.weights[w];
        if (is_load(layer, weight) || is_amax(layer, weight)) continue;  // measured
        const Tensor& tensor = layer.tensor(weight.weight);
        const bool in_shards = run.shards.weights_in_shards() && !weight.buffer;
        const View kept =
            in_shards ? View{nullptr, tensor.dtype, tensor.rows({}), tensor.columns({})}
                      : run.store.parameter(
                            instance.slots[w], tensor,
                            weight.buffer ? BucketPart::buffers : BucketPart::weights, "init");
        const InitialValue value = initial_value(layer, weight);
        const std::vector<NamedPart> parts = named_parts(layer, instance, weight, mine);
        const auto shards = [&] {
          return run.store.state(run.bucket(instance.slots[w].bucket).weights, false, "init");
        };
        const bool hidden = run.device.hidden(in_shards ? shards().data : kept.data);
        if (hidden && value == InitialValue::normal && !reads_or_changes) {
          make_on_device(instance.slots[w], kept, in_shards, parts, run);
          continue;
        }
        const bool elsewhere = in_shards || hidden;
        std::vector<std::byte> whole(elsewhere ? static_cast<std::size_t>(tensor.bytes({}))
                                               : std::size_t{0});
        View view = kept;
        if (elsewhere) view.data = whole.data();
        for (const NamedPart& p : parts) {
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
  const BucketState& dense = run.bucket(Bucket::dense);
  if (dense.amax_elements > 0) {  // no past
    const View buffers = run.store.state(dense.buffers, false, "init");
    run.kernels.zero(elements_of(buffers, amax_places(dense).seen,
                                 all_amax_elements(dense.amax_elements)));
  }
  refresh_host_weights(run);
  initialise_main_params(run);
}

}  // namespace pleat::execute
