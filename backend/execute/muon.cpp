// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon's step.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/execute/optimizers.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
namespace {

// Rank `rank`'s part of a matrix to its place in the whole one, or from there.
void place(KernelSet& kernels, const MatrixPart& m, int rank, View part, View whole, bool back) {
  const auto copy = [&](View from, View to) {
    back ? kernels.copy(to, from) : kernels.copy(from, to);
  };
  if (!m.cut.columns) {
    for (const WeightRun& r : runs_of(m.cut, m.rows, m.columns, rank)) {
      copy(elements_of(part, r.local, r.elements), elements_of(whole, r.whole, r.elements));
    }
    return;
  }
  for (const WeightRun& r : runs_of(m.cut, 1, m.columns, rank)) {
    const ColumnBlocks there{.width = r.elements, .from_first = r.local, .to_first = r.whole};
    const ColumnBlocks here{.width = r.elements, .from_first = r.whole, .to_first = r.local};
    back ? kernels.copy_columns(whole, part, here) : kernels.copy_columns(part, whole, there);
  }
}

// The workspace's three matrices.
View in_workspace(View workspace, int which, std::int64_t rows, std::int64_t columns) {
  const std::int64_t each = workspace.elements() / 3;
  if (rows * columns > each) {
    throw ExecutionError(
        fmt::format("a matrix of {} x {} in a workspace of {} elements", rows, columns, each));
  }
  return {workspace.at(which * each), workspace.dtype, rows, columns};
}

Bucket bucket_of_workspace(const Op& op, const Execution& run, TensorId id) {
  for (std::size_t i = 2; i < run.stage.buckets.size(); ++i) {
    if (run.stage.buckets[i].workspace == id) return static_cast<Bucket>(i);
  }
  throw ExecutionError(fmt::format("operation '{}': '{}' is no bucket's workspace", op.name,
                                   run.stage.state[id.index()].name));
}

// The matrix that the operation is for. None: this rank's shard has fewer than another's.
const MatrixPart* matrix_of(const Op& op, const Execution& run, Bucket which) {
  const Piece piece = run.shards.pieces(which).front();
  const auto mine =
      matrices_in(run.bucket(which).matrices, piece.whole, piece.whole + piece.elements);
  const auto number = static_cast<std::size_t>(op.attr.first);
  return number < mine.size() ? mine[number] : nullptr;
}

}  // namespace

void muon_momentum(const Call& c, Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const MuonSettings& s = run.config.muon;
  for (const Stretch& stretch : stretches(c.op, run, which)) {
    const View gradients = gradients_of(c.op, run, stretch, c.in[0]);
    keep_gradients(run, which, stretch, gradients);
    run.kernels.muon_momentum(gradients, elements_of(c.in[1], stretch.state, stretch.elements),
                              run.step.clip_factor, s.momentum, s.nesterov);
  }
}

// The peers' parts of a matrix, one after another, into the workspace.
void gather_matrix(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const MatrixPart* m = matrix_of(c.op, run, bucket_of_workspace(c.op, run, c.op.out[0]));
  if (m == nullptr) return;
  Communicator& comm = run.ranks.comm(c.op.group);
  const View part = elements_of(c.in[0], m->first, m->elements());
  const bool cut = !m->cut.bands.empty();
  const View all = in_workspace(c.out[0], 1, cut ? comm.size() : 1, m->elements());
  const View mine = elements_of(all, cut ? comm.rank() * m->elements() : 0, m->elements());
  run.kernels.copy(part, mine);
  if (cut) comm.all_gather(bytes(mine), bytes(all));
}

void newton_schulz(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const Bucket which = bucket_of_workspace(c.op, run, c.op.out[0]);
  const MatrixPart* m = matrix_of(c.op, run, which);
  if (m == nullptr) return;
  const MatrixShape shape = whole_shape(*m);
  const View whole = in_workspace(c.out[0], 0, shape.rows, shape.columns);
  if (c.op.in[0] == c.op.out[0]) {
    const int parts = m->cut.bands.empty() ? 1 : m->cut.ranks;
    const View all = in_workspace(c.out[0], 1, parts, m->elements());
    for (int r = 0; r < parts; ++r) {
      View part = elements_of(all, r * m->elements(), m->elements());
      part.rows = m->rows, part.cols = m->columns;
      place(run.kernels, *m, r, part, whole, false);
    }
  } else {
    run.kernels.copy(elements_of(c.in[0], m->first, m->elements()), whole);
  }
  const std::int64_t each = c.out[0].elements() / 3;
  run.kernels.newton_schulz(whole, elements_of(c.out[0], each, 2 * each));
}

// This rank has a part of the orthogonal matrix, and of that it steps what lies in its shard.
void step_matrix(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const Bucket which = bucket_of_workspace(c.op, run, c.op.in[0]);
  const MatrixPart* m = matrix_of(c.op, run, which);
  if (m == nullptr) return;
  const BucketState& b = run.bucket(which);
  const MatrixShape shape = whole_shape(*m);
  const View whole = in_workspace(c.in[0], 0, shape.rows, shape.columns);
  View part = whole;
  if (!m->cut.bands.empty()) {
    part = in_workspace(c.in[0], 1, m->rows, m->columns);
    place(run.kernels, *m, run.shards.place_in_copies(which), part, whole, true);
  }
  const double rate = run.step.lr * step_scale(run.config.muon, shape.rows, shape.columns);
  const double keep = 1 - run.step.lr * run.config.adamw.weight_decay;
  for (const Piece& p : run.shards.pieces(which)) {
    const std::int64_t first = std::max(p.whole, m->first);
    const std::int64_t last = std::min(p.whole + p.elements, m->first + m->elements());
    if (first >= last) continue;
    const std::int64_t at = p.shard + (first - p.whole);
    run.kernels.scaled_step(elements_of(part, first - m->first, last - first),
                            weights_of(c.op, run, {first, at, at, last - first, true}, c.in[1], b),
                            keep, rate);
  }
}

}  // namespace pleat::execute
