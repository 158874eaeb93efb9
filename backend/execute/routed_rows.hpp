// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many rows the experts of each layer get: counts that only routing decides, which the host
// learns while the step runs. The program says which operation tells them (expert_counts,
// gather_counts, …); whoever needs the size of a routed tensor asks for its binding.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backend/execute/call.hpp"
#include "backend/rank_context.hpp"
#include "kernels/device.hpp"

namespace pleat::execute {

using Counts = std::span<const std::int32_t>;

class RoutedRows {
 public:
  // By microbatch and layer.
  using OfStep = std::map<std::pair<int, int>, Binding>;

  RoutedRows(const Program&, const StageProgram&, const RankContext&, Device&);

  void begin_step();
  // An ExecutionError names a tensor whose count is not known yet.
  [[nodiscard]] Binding binding(const OpSite&, const Tensor&) const;

  // Of a tensor of counts whose contents are final: read from the device once.
  [[nodiscard]] Counts counts_on_host(const Call&, TensorId, View);
  void forget(const InstanceKey&);  // the tensor's storage goes

  // Whether routing decides only which expert gets a row, and not how many rows there are: nothing
  // is dropped, and nobody to exchange with. Then the host knows the number without being told.
  [[nodiscard]] bool are_all_kept() const;
  void set_all_kept(const Call&, std::int64_t copies);  // of this rank's tokens

  // The layer's copies of this rank's tokens that are not dropped, by expert. Where there is nobody
  // to exchange rows with they are those received, and those computed.
  void set_kept(const Call&, Counts);
  // counts[ranks, E] of all ranks that share the layer's experts. Throws ConfigError where a paged
  // stash has no room for what arrives.
  void set_received(const Call&, Counts all);
  // Every expert has its capacity.
  void set_padded(const Call&);

  // What all members of the expert group send to the local experts of an etp peer.
  [[nodiscard]] std::int64_t rows_of_peer(Counts all, int peer) const;

  [[nodiscard]] bool has_stash() const { return stash_.stashed > 0; }
  [[nodiscard]] const OfStep& of_step() const { return of_step_; }
  // What an evaluation between steps leaves as it was.
  [[nodiscard]] OfStep put_aside() { return std::exchange(of_step_, {}); }
  void take_back(OfStep rows) { of_step_ = std::move(rows); }

 private:
  [[nodiscard]] Binding& rows_of(const Call&);
  void make_room(const Call&, Binding& rows) const;

  const Program& program_;
  const StageProgram& stage_;
  const RankContext& ranks_;
  Device& device_;
  const Binding stash_;  // its `room` and `stashed`
  OfStep of_step_;
  std::map<InstanceKey, std::vector<std::int32_t>> read_;  // counts that the host has
};

}  // namespace pleat::execute
