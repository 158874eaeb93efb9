// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/captured_ops.hpp"

#include <algorithm>
#include <string>

#include "backend/execute/execution.hpp"
#include "backend/execute/op_table.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/graph_scope.hpp"

namespace pleat::execute {

CapturedOps::CapturedOps(Execution& run) : run_(run), pinned_(run.device.host_memory(), false) {
  const CudaGraph scope = run.program.plan.cuda_graph;
  // Poison is written at once: before the operations that wait for their graph have run.
  if (run.config.poison || scope == CudaGraph::none || !run.device.captures()) return;
  graphs_.emplace(run.device, scope == CudaGraph::full_iteration, [&run](const std::string& text) {
    if (run.config.on_message) run.config.on_message(run.ranks.rank(), text);
  });
}

bool CapturedOps::takes(const Op& op, const OpSite* site) const {
  if (!graphs_ || site == nullptr || op.on_host || op.host_sync) return false;
  if (!is_in_scope(run_.program.plan.cuda_graph, op)) return false;
  // Products of codes also read scales, whose memory may be another one every time.
  if (is_quantized(op.attr.math)) return false;
  const auto may_repeat = [&](TensorId id) {
    const Tensor& t = site->program->tensor(id);
    const bool one_size =
        !t.is_routed() || run_.program.workload.pad_to_capacity || run_.rows.are_all_kept();
    return !is_quantized(t.dtype) && one_size;
  };
  const auto repeats = entry_of(op.kind).repeats;
  return repeats != nullptr && repeats(op, run_) && std::ranges::all_of(op.in, may_repeat) &&
         std::ranges::all_of(op.out, may_repeat);
}

void CapturedOps::add(const Call& c) { graphs_->add(*c.site, c.in, c.out, staged(c)); }

// The last step's copies are done by now.
View CapturedOps::staged(const Call& c) {
  const OpEntry& entry = entry_of(c.op.kind);
  View rows = entry.hosts_rows == nullptr ? View{} : entry.hosts_rows(c);
  if (rows.data == nullptr) return {};
  Block& block = staged_[{&c.op, c.site->instance, c.site->microbatch.value}];
  if (block.bytes() < byte_count(rows)) block = pinned_.allocate(byte_count(rows));
  rows.data = block.data();
  entry.fill(c, run_, rows);
  return rows;
}

void CapturedOps::flush(const std::function<void(const Call&)>& run) {
  if (!graphs_) return;
  graphs_->flush([&run](const GraphCache::Waiting& w) {
    run({*w.site.op, &w.site, w.in, w.out, w.staged});
  });
}

}  // namespace pleat::execute
