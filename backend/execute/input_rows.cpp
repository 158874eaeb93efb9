// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/input_rows.hpp"

#include <algorithm>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/sequences.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat::execute {
namespace {

// Of the whole microbatch.
std::vector<std::int32_t> labels_of(const Call& c, const Execution& run) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(c.op.attr.batch * c.op.attr.seq));
  run.batches->labels(run.step.number, c.site->microbatch.value, run.ranks.attention().dp, labels);
  return labels;
}

}  // namespace

// The token one position later is the label; the token further on is the label of that one. There
// is no token behind a label that does not count, nor behind the sequence.
void fill_tokens(const Call& c, Execution& run, View tokens) {
  std::vector<std::int32_t> all;
  if (const std::int64_t ahead = c.op.attr.ahead; ahead > 0) {
    all = labels_of(c, run);
    const std::int64_t seq = c.op.attr.seq;
    for (std::int64_t i = 0; i < std::ssize(all); ++i) {
      const bool behind = i % seq + ahead > seq;
      const std::int32_t token =
          behind ? 0 : all[static_cast<std::size_t>(i + ahead - 1)];  // not written yet
      all[static_cast<std::size_t>(i)] = std::max(token, 0);
    }
  } else {
    all.resize(static_cast<std::size_t>(c.op.attr.batch * c.op.attr.seq));
    run.batches->tokens(run.step.number, c.site->microbatch.value, run.ranks.attention().dp, all);
  }
  std::ranges::transform(own_tokens(c, run), tokens.i32(),
                         [&](std::int32_t token) { return all[static_cast<std::size_t>(token)]; });
}

// The model's own labels. With prediction depths every `depth_rows` rows have a part for each depth
// too: the label so many positions later, on whichever rank that is, -1 where a sequence has no
// more.
void fill_labels(const Call& c, Execution& run, View labels) {
  const std::int64_t seq = c.op.attr.seq, every = c.op.attr.depth_rows;
  const std::int64_t part = every / (1 + c.op.attr.depths);
  const std::vector<std::int32_t> all = labels_of(c, run);
  const std::vector<std::int32_t> own = own_tokens(c, run);
  const auto label = [&](std::int32_t token) { return all[static_cast<std::size_t>(token)]; };
  const std::int64_t first = c.op.attr.first;
  if (every == 0) {
    const auto from = own.begin() + static_cast<std::ptrdiff_t>(first);
    std::transform(from, from + static_cast<std::ptrdiff_t>(labels.elements()), labels.i32(),
                   label);
    return;
  }
  for (std::int64_t row = 0; row < labels.elements(); ++row) {
    const std::int64_t i = first + row, ahead = i % every / part;
    const std::int32_t token = own[static_cast<std::size_t>(i / every * part + i % part)];
    std::int32_t found = label(token);
    for (std::int64_t d = 1; d <= ahead; ++d) {  // behind what does not count: another document
      const bool none = found < 0 || token % seq + d >= seq;
      found = none ? -1 : label(token + static_cast<std::int32_t>(d));
    }
    labels.i32()[row] = found;
  }
}

void fill_capacity(const Call& c, Execution&, View rows) {
  std::fill_n(rows.i32(), rows.elements(), static_cast<std::int32_t>(c.op.attr.capacity));
}

void upload(const Call& c, Execution& run, View to, Fill fill) {
  if (c.staged.data != nullptr) {
    return run.device.enqueue_copy(to.data, c.staged.data, byte_count(to));
  }
  write_on_host(run.device, to, [&](View rows) { fill(c, run, rows); });
}

void load_tokens(const Call& c, Execution& run) { upload(c, run, c.out[0], fill_tokens); }
void load_labels(const Call& c, Execution& run) { upload(c, run, c.out[0], fill_labels); }

}  // namespace pleat::execute
