// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/routed_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/diagnostics.hpp"

namespace pleat::execute {
namespace {

// Rows that a paged stash has room for and keeps; none without one.
Binding stash_of(const Program& p) {
  const PagedStash& stash = p.plan.paged_stash;
  if (stash.buffer <= 0) return {};
  const auto rows = [&](double over_mean) {
    return balanced_routed_tokens(p.model, p.workload, p.plan, over_mean);
  };
  return {.room = rows(stash.capacity), .stashed = rows(stash.buffer)};
}

}  // namespace

RoutedRows::RoutedRows(const Program& program, const StageProgram& stage, const RankContext& ranks,
                       Device& device)
    : program_(program), stage_(stage), ranks_(ranks), device_(device), stash_(stash_of(program)) {}

void RoutedRows::begin_step() {
  of_step_.clear();
  read_.clear();
}

Binding RoutedRows::binding(const OpSite& site, const Tensor& tensor) const {
  if (!tensor.is_routed()) return {};
  const int layer = layer_of(site, tensor).value;
  const auto it = of_step_.find({site.microbatch.value, layer});
  if (it == of_step_.end()) {
    throw ExecutionError(
        fmt::format("tensor '{}' of layer {}, microbatch {}: the routed count is not known yet",
                    tensor.name, layer, site.microbatch.value));
  }
  return it->second;
}

Counts RoutedRows::counts_on_host(const Call& c, TensorId id, View counts) {
  if (!device_.hidden(counts.data)) {
    return {counts.i32(), static_cast<std::size_t>(counts.elements())};
  }
  const auto [entry, fresh] = read_.try_emplace(resolve(stage_, *c.site, id));
  if (fresh) {
    entry->second.resize(static_cast<std::size_t>(counts.elements()));
    device_.copy(entry->second.data(), counts.data, byte_count(counts));
  }
  return entry->second;
}

void RoutedRows::forget(const InstanceKey& key) {
  if (!read_.empty()) read_.erase(key);
}

Binding& RoutedRows::rows_of(const Call& c) {
  return of_step_[{c.site->microbatch.value, layer_of_result(c).value}];
}

bool RoutedRows::are_all_kept() const {
  const ExpertMapping& grid = program_.plan.expert;
  return grid.ep * grid.etp == 1 && program_.workload.capacity_factor <= 0;
}

void RoutedRows::set_all_kept(const Call& c, std::int64_t copies) {
  Binding& rows = rows_of(c);
  rows.kept = rows.routed = rows.gathered = copies;
}

void RoutedRows::set_kept(const Call& c, Counts kept) {
  Binding& rows = rows_of(c);
  rows.kept = std::accumulate(kept.begin(), kept.end(), std::int64_t{0});
  if (program_.plan.expert.ep == 1) rows.routed = rows.kept;
  if (program_.plan.expert.ep * program_.plan.expert.etp == 1) rows.gathered = rows.kept;
}

void RoutedRows::set_received(const Call& c, Counts all) {
  Binding& rows = rows_of(c);
  rows.routed = rows_of_peer(all, ranks_.expert().etp);
  rows.gathered = 0;
  for (int p = 0; p < program_.plan.expert.etp; ++p) rows.gathered += rows_of_peer(all, p);
  make_room(c, rows);
}

void RoutedRows::set_padded(const Call& c) {
  Binding& rows = rows_of(c);
  rows.routed = c.op.attr.experts * c.op.attr.capacity;
  rows.gathered = rows.routed * program_.plan.expert.etp;
}

std::int64_t RoutedRows::rows_of_peer(Counts all, int peer) const {
  const ExpertMapping& grid = program_.plan.expert;
  const std::int64_t experts = grid.slots(program_.model.moe->experts);
  const std::int64_t local = grid.local(program_.model.moe->experts);
  std::int64_t rows = 0;
  for (std::int64_t source = 0; source < grid.ep; ++source) {
    const std::int32_t* counts = all.data() + (source * grid.etp + peer) * experts;
    const std::int32_t* first = counts + ranks_.expert().ep * local;
    rows = std::accumulate(first, first + local, rows);
  }
  return rows;
}

void RoutedRows::make_room(const Call& c, Binding& rows) const {
  if (stash_.room == 0) return;
  rows.room = stash_.room;
  rows.stashed = stash_.stashed;
  // What ETP's members gather has room for as much of each; who has too much says so, too.
  const int etp = program_.plan.expert.etp;
  if (rows.routed <= rows.room && rows.gathered <= rows.room * etp) return;
  throw_config_error(
      ExitCode::nothing_fits, "", "paged_stash.capacity",
      fmt::format("layer {}, microbatch {}: routing sends {} rows to rank {}, there is room for {}",
                  layer_of_result(c).value, c.site->microbatch.value,
                  std::max(rows.routed, (rows.gathered + etp - 1) / etp), ranks_.rank().value,
                  rows.room),
      "a larger capacity, or no stash");
}

}  // namespace pleat::execute
