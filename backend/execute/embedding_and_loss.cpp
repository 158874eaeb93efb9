// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/embedding_and_loss.hpp"

#include <algorithm>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/sequences.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// Adds a learned row for every token's place in its document, or to the row's gradient: for runs of
// neighbouring places at once. add(rows of x, rows of the table, number of rows).
template <class Add>
void for_each_run_of_positions(const Call& c, const Execution& run, View x, View table, Add add) {
  const std::vector<std::int32_t> places = token_positions(*c.site, run);
  if (places.empty()) return add(x, table, c.op.attr.seq);
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    const auto first = static_cast<std::int64_t>(begin);
    const auto count = static_cast<std::int64_t>(end - begin);
    add(rows_of(x, first, count), rows_of(table, places[begin], count), count);
    begin = end;
  }
}

VocabShard vocabulary(const Execution& run, View logits) {
  return {run.ranks.attention().tp * logits.cols, run.program.model.vocab};
}

}  // namespace

void embedding(const Call& c, Execution& run) {
  const View words = c.in[1], positions = optional_operand(c.in, 2), x = c.out[0];
  run.kernels.embedding(c.in[0], words, run.ranks.attention().tp * words.rows, x);
  if (positions.data == nullptr) return;
  for_each_run_of_positions(c, run, x, positions, [&](View rows, View places, std::int64_t count) {
    run.kernels.add_positions(places, count, c.op.attr.bias_scale, rows);
  });
}

void embedding_bwd(const Call& c, Execution& run) {
  const View dx = c.in[0], words = c.out[0], positions = optional_operand(c.out, 1);
  run.kernels.embedding_bwd(dx, c.in[1], run.ranks.attention().tp * words.rows, words);
  if (positions.data == nullptr) return;
  for_each_run_of_positions(c, run, dx, positions, [&](View rows, View places, std::int64_t count) {
    run.kernels.add_positions_bwd(rows, count, c.op.attr.bias_scale, places);
  });
}

void ce_stats(const Call& c, Execution& run) {
  run.kernels.ce_stats(c.in[0], c.in[1], vocabulary(run, c.in[0]), c.out[0]);
}

void ce_loss(const Call& c, Execution& run) {
  const OpAttributes& a = c.op.attr;
  const double weight = run.batches->loss_weight(run.step.number);
  run.kernels.ce_loss(c.in[0], c.in[1], vocabulary(run, c.in[0]), c.in[2], a.scale * weight,
                      {.every = a.depth_rows,
                       .scale = a.mtp_scale * weight,
                       .depths = std::max<std::int64_t>(1, a.depths),
                       .seq = a.seq,
                       .first = a.first},
                      c.out[1]);
}

}  // namespace pleat::execute
