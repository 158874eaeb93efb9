// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The operations that Plan::cuda_graph puts into graphs of the device. A graph repeats its kernels
// with the addresses and numbers that they were captured with. So an operation for which the host
// makes something anew in each step stays out. The exception are rows (tokens, labels): the host
// writes them to a fixed place before the graph runs, and the graph copies them from there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "backend/execute/call.hpp"
#include "backend/runtime/arena.hpp"
#include "backend/runtime/graph_cache.hpp"

namespace pleat::execute {

struct Execution;

class CapturedOps {
 public:
  // Without graphs in the plan or on the device nothing is ever captured.
  explicit CapturedOps(Execution&);

  // May a graph have the operation?
  [[nodiscard]] bool takes(const Op&, const OpSite*) const;
  // Does it continue the graph that waits?
  [[nodiscard]] bool continues(const OpSite& site) const { return graphs_->belongs(site); }
  // It waits for the rest of its graph.
  void add(const Call&);
  // Gives all that waits to the device: captured, repeated, or one by one with run(call).
  void flush(const std::function<void(const Call&)>& run);

 private:
  // The host's rows of this microbatch, in memory of their own: a graph copies from there in every
  // step.
  [[nodiscard]] View staged(const Call&);

  Execution& run_;
  Arena pinned_;  // of the host: what graphs copy from
  std::map<std::tuple<const Op*, const LayerInstance*, int>, Block> staged_;  // by microbatch
  std::optional<GraphCache> graphs_;
};

}  // namespace pleat::execute
