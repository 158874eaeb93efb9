// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon's step, one matrix after the other: of those that reach into this rank's shard. The
// gradients' storage holds the momentum of the whole bucket; the workspace is three of the largest
// matrix.
#include <fmt/format.h>

#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
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

}  // namespace

// The workspace's three matrices.
View Executor::in_workspace(View workspace, int which, std::int64_t rows, std::int64_t columns) {
  const std::int64_t each = workspace.elements() / 3;
  if (rows * columns > each) {
    throw ExecutionError(
        fmt::format("a matrix of {} x {} in a workspace of {} elements", rows, columns, each));
  }
  return {workspace.at(which * each), workspace.dtype, rows, columns};
}

Bucket Executor::bucket_of_workspace(const Op& op, TensorId id) const {
  for (std::size_t i = 2; i < stage_.buckets.size(); ++i) {
    if (stage_.buckets[i].workspace == id) return static_cast<Bucket>(i);
  }
  throw ExecutionError(fmt::format("operation '{}': '{}' is no bucket's workspace", op.name,
                                   stage_.state[id.index()].name));
}

// None: this rank's shard has fewer than another's.
const MatrixPart* Executor::matrix_of(const Op& op, Bucket which) const {
  const Piece piece = pieces(which).front();
  const auto mine = matrices_in(stage_.buckets[static_cast<std::size_t>(which)].matrices,
                                piece.whole, piece.whole + piece.elements);
  const auto number = static_cast<std::size_t>(op.attr.first);
  return number < mine.size() ? mine[number] : nullptr;
}

void Executor::muon_momentum(const Call& c) {
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const MuonSettings& s = config_.muon;
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(c.op, run, c.in[0]);
    keep_gradients(which, run, gradients);
    kernels_.muon_momentum(gradients, elements_of(c.in[1], run.state, run.elements),
                           clip_factor_, s.momentum, s.nesterov);
  }
}

// The peers' parts of a matrix, one after another, into the workspace.
void Executor::gather_matrix(const Call& c) {
  if (skipped_) return;
  const MatrixPart* m = matrix_of(c.op, bucket_of_workspace(c.op, c.op.out[0]));
  if (m == nullptr) return;
  Communicator& comm = context_.comm(c.op.group);
  const View part = elements_of(c.in[0], m->first, m->elements());
  const bool cut = !m->cut.bands.empty();
  const View all = in_workspace(c.out[0], 1, cut ? comm.size() : 1, m->elements());
  const View mine = elements_of(all, cut ? comm.rank() * m->elements() : 0, m->elements());
  kernels_.copy(part, mine);
  if (cut) comm.all_gather(bytes(mine), bytes(all));
}

void Executor::newton_schulz(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of_workspace(c.op, c.op.out[0]);
  const MatrixPart* m = matrix_of(c.op, which);
  if (m == nullptr) return;
  const MatrixShape shape = whole_shape(*m);
  const View whole = in_workspace(c.out[0], 0, shape.rows, shape.columns);
  if (c.op.in[0] == c.op.out[0]) {
    const int parts = m->cut.bands.empty() ? 1 : m->cut.ranks;
    const View all = in_workspace(c.out[0], 1, parts, m->elements());
    for (int r = 0; r < parts; ++r) {
      View part = elements_of(all, r * m->elements(), m->elements());
      part.rows = m->rows, part.cols = m->columns;
      place(kernels_, *m, r, part, whole, false);
    }
  } else {
    kernels_.copy(elements_of(c.in[0], m->first, m->elements()), whole);
  }
  const std::int64_t each = c.out[0].elements() / 3;
  kernels_.newton_schulz(whole, elements_of(c.out[0], each, 2 * each));
}

// Of the orthogonal matrix what this rank has of it, of that what it steps.
void Executor::step_matrix(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of_workspace(c.op, c.op.in[0]);
  const MatrixPart* m = matrix_of(c.op, which);
  if (m == nullptr) return;
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const MatrixShape shape = whole_shape(*m);
  const View whole = in_workspace(c.in[0], 0, shape.rows, shape.columns);
  View part = whole;
  if (!m->cut.bands.empty()) {
    part = in_workspace(c.in[0], 1, m->rows, m->columns);
    const bool experts = static_cast<int>(which) % 2 == 1;
    const int rank = experts ? context_.expert().etp : context_.attention().tp;
    place(kernels_, *m, rank, part, whole, true);
  }
  const double rate = lr_ * step_scale(config_.muon, shape.rows, shape.columns);
  const double keep = 1 - lr_ * config_.adamw.weight_decay;
  for (const Piece& p : pieces(which)) {
    const std::int64_t first = std::max(p.whole, m->first);
    const std::int64_t last = std::min(p.whole + p.elements, m->first + m->elements());
    if (first >= last) continue;
    const std::int64_t at = p.shard + (first - p.whole);
    kernels_.scaled_step(elements_of(part, first - m->first, last - first),
                         weights_of(c.op, {first, at, at, last - first, true}, c.in[1], b), keep,
                         rate);
  }
}

}  // namespace pleat
