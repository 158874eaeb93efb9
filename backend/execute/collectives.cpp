// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/collectives.hpp"

#include <fmt/format.h>

#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/gradient_sums.hpp"
#include "backend/execute/quantization.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/compile_stage.hpp"
#include "kernels/narrow_rows.hpp"

namespace pleat::execute {
namespace {

void require_sizes(const Call& c, const Communicator& comm, bool they_fit) {
  if (they_fit) return;
  throw ExecutionError(fmt::format("operation '{}': {} elements to {} over {} ranks", c.op.name,
                                   c.in[0].elements(), c.out[0].elements(), comm.size()));
}

// All ranks' rows in fp8.
void all_gather_narrow(const Call& c, Execution& run, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  const std::int64_t row_bytes = narrow_row_bytes(to.cols);
  const Block sent = run.scratch.take_bytes(from.rows * row_bytes);
  const Block all = run.scratch.take_bytes(to.rows * row_bytes);
  run.kernels.pack_rows(from, sent.data());
  comm.all_gather(sent.room(), all.room());
  run.kernels.unpack_rows(all.data(), 1, false, to);
}

// The sums of what all members have of this rank's rows, in member order.
void reduce_scatter_narrow(const Call& c, Execution& run, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  const std::int64_t row_bytes = narrow_row_bytes(to.cols);
  const Block sent = run.scratch.take_bytes(from.rows * row_bytes);
  const Block received = run.scratch.take_bytes(from.rows * row_bytes);
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()), to.rows * row_bytes);
  run.kernels.pack_rows(from, sent.data());
  comm.all_to_all(sent.room(), sizes, received.room(), sizes);
  run.kernels.unpack_rows(received.data(), comm.size(), c.op.attr.accumulate, to);
}

struct StageMessage {
  Stage neighbour;
  int tag = 0;
};

// A message is known by its microbatch, the earlier of the two virtual stages and its direction. In
// a V a stage sends to itself where the V turns.
StageMessage stage_message(const Call& c, const Execution& run) {
  const Schedule schedule = schedule_of(run.program.plan, run.program.workload);
  const bool to_next = c.op.group == Group::pp_next;
  const OpSite& site = *c.site;
  const StagePlace other = neighbour(schedule, run.stage.stage, site.chunk, to_next ? 1 : -1);
  const int earlier = virtual_stage(schedule, run.stage.stage, site.chunk) - (to_next ? 0 : 1);
  const int boundary = site.microbatch.value * virtual_stages(schedule) + earlier;
  return {other.stage, 2 * boundary + (site.pass == Pass::forward ? 0 : 1)};
}

}  // namespace

void all_gather(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  if (c.op.attr.wire < 1) return all_gather_narrow(c, run, comm);
  const View from = c.in[0], to = c.out[0];
  require_sizes(c, comm, from.elements() * comm.size() == to.elements());
  if (is_quantized(from.dtype)) return gather_quantized(c, run, comm);
  comm.all_gather(bytes(from), bytes(to));
}

// An operation that adds to its result needs a place for the sum: this rank's own piece of the
// input, which nothing reads any more.
void reduce_scatter(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  if (c.op.attr.wire < 1) return reduce_scatter_narrow(c, run, comm);
  const View from = c.in[0], to = c.out[0];
  require_sizes(c, comm, to.elements() * comm.size() == from.elements());
  if (!c.op.attr.accumulate) return pleat::reduce_scatter(comm, from, to);
  View mine = to;
  mine.data = from.at(comm.rank() * to.elements());
  pleat::reduce_scatter(comm, from, mine);
  run.kernels.add(to, mine, {}, to);
}

void all_reduce(const Call& c, Execution& run) {
  const OpAttributes& attr = c.op.attr;
  const View to = c.out[0];
  const std::int64_t elements = attr.n == Dim{} ? to.elements() : attr.n.n;
  if (c.in[0].data != to.data || attr.first + elements > to.elements()) {
    throw ExecutionError(fmt::format("operation '{}': elements [{}, {}) of {}", c.op.name,
                                     attr.first, attr.first + elements, to.elements()));
  }
  Communicator& comm = run.ranks.comm(c.op.group, attr.run);
  sum_gradients(c.op, run, comm, elements_of(to, attr.first, elements));
}

void all_to_all(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()),
                                        bytes_of(c.in[0].dtype, c.in[0].elements()) / comm.size());
  comm.all_to_all(bytes(c.in[0]), sizes, bytes(c.out[0]), sizes);
}

void send(const Call& c, Execution& run) {
  const StageMessage m = stage_message(c, run);
  run.ranks.pipeline().send(m.neighbour.value, bytes(c.in[0]), m.tag);
}

void recv(const Call& c, Execution& run) {
  const StageMessage m = stage_message(c, run);
  run.ranks.pipeline().recv(m.neighbour.value, bytes(c.out[0]), m.tag);
}

}  // namespace pleat::execute
