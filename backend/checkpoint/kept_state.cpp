// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/kept_state.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "backend/init.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Of a part that begins at `begin` of the bucket: what the range holds.
void add_runs(const StateRange& range, std::int64_t begin, const NamedPart& part,
              std::vector<KeptRun>& runs) {
  auto* data = static_cast<std::byte*>(range.values.data);
  for (const WeightRun& run : part.runs) {
    const std::int64_t at = begin + run.local;
    const std::int64_t first = std::max(at, range.begin);
    const std::int64_t last = std::min(at + run.elements, range.begin + range.values.elements());
    if (first >= last) continue;
    runs.push_back({run.whole + (first - at), last - first,
                    data + bytes_of(range.values.dtype, first - range.begin)});
  }
}

}  // namespace

std::vector<KeptTensor> kept_state(Executor& executor, Kept which) {
  const StageProgram& stage = executor.stage();
  const WeightRank rank = weight_rank(executor.program().plan, executor.context().rank());
  const std::vector<StateRange> ranges =
      which == Kept::saved_here ? executor.saved_ranges() : executor.needed_ranges();
  std::vector<KeptTensor> tensors;
  std::set<std::pair<Bucket, std::int64_t>>
      seen;  // a table that several layers read lies here once
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const Weight& weight = layer.weights[w];
        const WeightSlot& slot = instance.slots[w];
        if (!seen.insert({slot.bucket, slot.offset}).second) continue;
        for (const NamedPart& part : named_parts(layer, instance, weight, rank)) {
          if (which == Kept::saved_here && part.copy) continue;
          std::map<std::string, KeptTensor> found;  // by kind
          for (const StateRange& range : ranges) {
            if (range.bucket != static_cast<std::size_t>(slot.bucket)) continue;
            std::vector<KeptRun> runs;
            add_runs(range, slot.offset + part.offset, part, runs);
            if (runs.empty()) continue;  // of another type it may be, as buffers are
            const auto type = element_type_of(range.values.dtype);
            PLEAT_ASSERT(type.has_value());
            KeptTensor& tensor = found[range.kind];
            tensor.name = std::string(range.kind) + "/" + part.name;
            tensor.type = *type;
            tensor.elements = part.whole;
            tensor.runs.insert(tensor.runs.end(), runs.begin(), runs.end());
          }
          for (auto& [kind, tensor] : found) tensors.push_back(std::move(tensor));
        }
      }
    }
  }
  return tensors;
}

}  // namespace pleat
