// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/execution.hpp"

#include "backend/runtime/host_access.hpp"

namespace pleat::execute {

Execution::Execution(const Program& compiled, const TrainConfig& settings, const RankContext& rank,
                     const Batches& data, Device& computes)
    : program(compiled),
      stage(compiled.stages[static_cast<std::size_t>(rank.attention().pp)]),
      config(settings),
      ranks(rank),
      batches(&data),
      device(computes),
      kernels(computes.kernels()),
      kernels_beside_it(computes.is_host() ? nullptr : cpu_kernels()),
      host_kernels(kernels_beside_it ? *kernels_beside_it : kernels),
      windows(compiled, rank, computes),
      store(stage, computes, settings.poison, keeps_routed_apart(compiled.plan),
            [this](const Tensor& t) { return windows.memory_of(t); }),
      scratch(computes, settings.poison),
      device_load(computes, scratch, compiled.model.layers + 1 + compiled.model.mtp_layers,
                  compiled.model.moe ? compiled.model.moe->experts : 0),
      placed(stage, computes, scratch),
      rows(compiled, stage, rank, computes),
      shards(compiled, stage, rank),
      narrow(stage, store),
      step{} {
  step.undecayed = undecayed_ranges(stage, settings.tables_decay);
}

void Execution::copy_between(View from, View to) {
  const bool hidden = device.hidden(from.data), hides = device.hidden(to.data);
  if (hidden == hides) return (hidden ? kernels : host_kernels).copy(from, to);
  if (from.dtype == to.dtype) {
    PLEAT_ASSERT(from.elements() == to.elements());
    return device.copy(to.data, from.data, byte_count(to));
  }
  read_on_host(device, from, [&](View values) {
    write_on_host(device, to, [&](View there) { host_kernels.copy(values, there); });
  });
}

}  // namespace pleat::execute
