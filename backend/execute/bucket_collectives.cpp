// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/bucket_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/execute/collectives.hpp"
#include "backend/execute/execution.hpp"
#include "backend/execute/gradient_sums.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
namespace {

// The parts of its tensor that the operation exchanges, unit by unit. Over the shard group this is
// the whole bucket, over other groups the part that this rank has of it. Gradients that lie in
// shards are exchanged between the replicas of the shards alone.
std::vector<View> ranges(const Call& c, const Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const View tensor = c.out[0];
  if (run.shards.gradients_in_shards() && c.op.in[0] == run.bucket(which).gradients) {
    return {tensor};
  }
  const BucketPlace place = run.shards.place(which);
  const bool outer = c.op.group == shard_groups(run.program.plan, of_experts(which)).shard;
  std::vector<View> all;
  for (const BucketUnit& unit : run.shards.units(which)) {
    const std::int64_t part = unit.elements / place.parts;
    all.push_back(outer ? elements_of(tensor, unit.begin, unit.elements)
                        : elements_of(tensor, unit.begin + place.part * part, part));
  }
  return all;
}

// This member's share.
View share_of(const Call& c, const Communicator& comm, View range) {
  if (range.elements() % comm.size() != 0) {
    throw ExecutionError(fmt::format("operation '{}': {} elements over {} ranks", c.op.name,
                                     range.elements(), comm.size()));
  }
  const std::int64_t each = range.elements() / comm.size();
  return elements_of(range, each * comm.rank(), each);
}

}  // namespace

void gather_bucket(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  for (const View& range : ranges(c, run)) {
    const View mine = share_of(c, comm, range);
    comm.all_gather(bytes(mine), bytes(range));
  }
}

// Of gradients that lie in shards all members keep the same shard.
void reduce_bucket(const Call& c, Execution& run) {
  if (run.shards.gradients_in_shards()) return all_reduce_bucket(c, run);
  Communicator& comm = run.ranks.comm(c.op.group);
  for (const View& range : ranges(c, run)) {
    sum_gradients(c.op, run, comm, range, share_of(c, comm, range));
  }
}

void all_reduce_bucket(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  for (const View& range : ranges(c, run)) sum_gradients(c.op, run, comm, range);
}

// Where gradients lie in shards, only the elements that this rank has are summed. The other ranks
// of tp have the same ones.
void all_reduce_replicated(const Call& c, Execution& run) {
  if (!run.shards.gradients_in_shards()) return all_reduce(c, run);
  const OpAttributes& attr = c.op.attr;
  Communicator& comm = run.ranks.comm(c.op.group, attr.run);
  for (const Piece& p : run.shards.pieces(run.shards.bucket_of(c.op, c.op.in[0]))) {
    const std::int64_t first = std::max(attr.first, p.whole);
    const std::int64_t last = std::min(attr.first + attr.n.n, p.whole + p.elements);
    if (first >= last) continue;
    pleat::all_reduce(comm, elements_of(c.out[0], p.shard + (first - p.whole), last - first));
  }
}

}  // namespace pleat::execute
