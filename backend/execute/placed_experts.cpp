// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/placed_experts.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

std::vector<std::int32_t> table_of_slots(const ExpertSlots& slots, std::int64_t experts,
                                         std::int64_t columns) {
  std::vector<std::int32_t> table(static_cast<std::size_t>(experts * columns), -1);
  for (std::int64_t e = 0; e < experts; ++e) {
    const auto row = table.begin() + static_cast<std::ptrdiff_t>(e * columns);
    const std::span<const int> own = slots.slots_of(e);
    *row = static_cast<std::int32_t>(own.size());
    std::ranges::copy(own, row + 1);
  }
  return table;
}

// The matrices (or biases) of a layer's experts on this rank, in a tensor of their bucket.
struct GroupedPart {
  View all;                // [local, each]
  const ExpertSlots& slots;
};

std::vector<GroupedPart> parts_of(const Call& c, const Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  std::vector<GroupedPart> parts;
  for (const ChunkProgram& chunk : run.stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = run.stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        if (instance.slots[w].bucket != which) continue;
        const Tensor& tensor = layer.tensor(layer.weights[w].weight);
        const std::int64_t local = tensor.shape.front().n;
        View all = elements_of(c.out[0], instance.slots[w].offset, layer.weights[w].elements);
        all.cols = all.elements() / local;
        all.rows = local;
        parts.push_back({all, instance.experts[static_cast<std::size_t>(tensor.of_layer)]});
      }
    }
  }
  return parts;
}

// One way of an exchange between copies and homes.
class CopyExchange {
 public:
  CopyExchange(Execution& run, Communicator& comm, const GroupedPart& part, bool to_home)
      : run_(run), comm_(comm), part_(part) {
    const std::int64_t local = part.all.rows;
    const auto peers = static_cast<std::size_t>(comm.size());
    send_.resize(peers);
    receive_.resize(peers);
    for (std::int64_t slot = 0; slot < std::ssize(part.slots.experts()); ++slot) {
      if (!part.slots.is_copy(slot)) continue;
      const std::int64_t home = part.slots.home_of(slot);
      const std::int64_t from = to_home ? slot : home, to = to_home ? home : slot;
      if (from / local == comm.rank()) send_[static_cast<std::size_t>(to / local)].push_back(from);
      if (to / local == comm.rank()) receive_[static_cast<std::size_t>(from / local)].push_back(to);
    }
  }

  // Sends, and calls take(row of this rank, what came for it) in the order of the senders.
  template <class Take>
  void run(Take take) {
    const std::int64_t first = comm_.rank() * part_.all.rows;
    std::vector<std::int64_t> to, from;
    const Scratch sent = room(send_, to), received = room(receive_, from);
    std::int64_t at = 0;
    for (const auto& slots : send_) {
      for (const std::int64_t slot : slots) {
        run_.kernels.copy(rows_of(part_.all, slot - first, 1), rows_of(sent.view(), at++, 1));
      }
    }
    comm_.all_to_all(bytes(sent.view()), to, bytes(received.view()), from);
    at = 0;
    for (const auto& slots : receive_) {
      for (const std::int64_t slot : slots) {
        take(rows_of(part_.all, slot - first, 1), rows_of(received.view(), at++, 1));
      }
    }
  }

 private:
  Scratch room(const std::vector<std::vector<std::int64_t>>& by_peer,
               std::vector<std::int64_t>& sizes) {
    std::int64_t rows = 0;
    for (const auto& slots : by_peer) {
      sizes.push_back(bytes_of(part_.all.dtype, std::ssize(slots) * part_.all.cols));
      rows += std::ssize(slots);
    }
    return run_.scratch.take(part_.all.dtype, rows, part_.all.cols);
  }

  Execution& run_;
  Communicator& comm_;
  const GroupedPart& part_;
  std::vector<std::vector<std::int64_t>> send_, receive_;  // slots, by peer
};

}  // namespace

PlacedExperts::PlacedExperts(const StageProgram& stage, Device& device, DeviceScratch& scratch) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      for (std::size_t i = 0; i < instance.experts.size(); ++i) {
        const ExpertSlots& slots = instance.experts[i];
        Placed& placed = of_layer_[instance.layer.value + static_cast<int>(i)];
        placed.slots = &slots;
        const auto columns = static_cast<std::int64_t>(1 + slots.most_copies());
        placed.table = scratch.take(DType::i32, slots.expert_count(), columns);
        const std::vector<std::int32_t> table =
            table_of_slots(slots, slots.expert_count(), columns);
        write_on_host(device, placed.table.view(),
                      [&](View here) { std::ranges::copy(table, here.i32()); });
      }
    }
  }
}

const ExpertSlots* PlacedExperts::slots_of(int layer) const {
  const auto found = of_layer_.find(layer);
  return found == of_layer_.end() ? nullptr : found->second.slots;
}

View PlacedExperts::table_of(int layer) const { return of_layer_.at(layer).table.view(); }

// Ranks begin with different copies, so that few tokens of each come to all copies too.
void place_experts(const Call& c, Execution& run) {
  run.kernels.place_experts(c.in[0], run.placed.table_of(layer_of_result(c).value),
                            run.ranks.expert().ep, c.out[0]);
}

void sum_expert_copies(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  for (const GroupedPart& part : parts_of(c, run)) {
    CopyExchange(run, comm, part, true).run([&](View own, View of_copy) {
      const View both[] = {own, of_copy};
      run.device.sum_parts(both, own);
    });
    const std::int64_t local = part.all.rows;
    for (std::int64_t i = 0; i < local; ++i) {
      if (part.slots.is_copy(comm.rank() * local + i)) run.kernels.zero(rows_of(part.all, i, 1));
    }
  }
}

void spread_experts(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  for (const GroupedPart& part : parts_of(c, run)) {
    CopyExchange(run, comm, part, false).run([&](View own, View of_home) {
      run.kernels.copy(of_home, own);
    });
  }
}

std::vector<std::int32_t> counts_of_experts(const ExpertSlots& slots,
                                            std::span<const std::int32_t> of_slots) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(slots.expert_count()), 0);
  for (std::size_t s = 0; s < of_slots.size(); ++s) {
    counts[static_cast<std::size_t>(slots.expert_of(static_cast<std::int64_t>(s)))] += of_slots[s];
  }
  return counts;
}

}  // namespace pleat::execute
