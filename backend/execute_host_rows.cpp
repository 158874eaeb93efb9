// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Results that the host has: tokens, labels, and the counts of padded experts. They go to the
// device at once, or by way of pinned memory that a graph copies from.
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {

// Where they go; none in most operations.
View Executor::hosts_rows(const Call& c) const {
  const OpKind kind = c.op.kind;
  if (kind == OpKind::load_tokens || kind == OpKind::load_labels) return c.out[0];
  if (c.op.attr.padded && kind == OpKind::expert_counts) return c.out[0];
  if (c.op.attr.padded && kind == OpKind::drop_tokens) return c.out[1];
  return {};
}

void Executor::fill_hosts_rows(const Call& c, View rows) {
  if (c.op.kind == OpKind::load_tokens) return fill_tokens(c, rows);
  if (c.op.kind == OpKind::load_labels) return fill_labels(c, rows);
  std::fill_n(rows.i32(), rows.elements(), static_cast<std::int32_t>(c.op.attr.capacity));
}

void Executor::upload(const Call& c) {
  const View to = hosts_rows(c);
  if (c.staged.data != nullptr) {
    return device_.enqueue_copy(to.data, c.staged.data, byte_count(to));
  }
  write_on_host(device_, to, [&](View rows) { fill_hosts_rows(c, rows); });
}

}  // namespace pleat
