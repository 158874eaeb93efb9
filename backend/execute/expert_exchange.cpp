// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/expert_exchange.hpp"

#include <numeric>
#include <vector>

#include "backend/execute/collectives.hpp"
#include "backend/execute/execution.hpp"
#include "backend/execute/expert_rows.hpp"
#include "backend/runtime/views.hpp"
#include "kernels/narrow_rows.hpp"

namespace pleat::execute {
namespace {

// The elements of a row that travels.
std::int64_t row_columns(const Call& c) {
  return has_probabilities(c, c.op.in[0]) ? 1 : c.in[0].cols;
}

View rows_of_columns(View v, std::int64_t columns) {
  v.rows = columns == 0 ? 0 : v.elements() / columns;
  v.cols = columns;
  return v;
}

// For each etp peer, how many elements all ranks that share the experts send to it.
std::vector<std::int64_t> elements_of_peers(const Call& c, Execution& run,
                                            const Communicator& comm) {
  const Counts counts = run.rows.counts_on_host(c, c.op.in[1], c.in[1]);
  std::vector<std::int64_t> elements;
  for (int p = 0; p < comm.size(); ++p) {
    elements.push_back(row_columns(c) * run.rows.rows_of_peer(counts, p));
  }
  return elements;
}

}  // namespace

void gather_counts(const Call& c, Execution& run) {
  all_gather(c, run);
  run.rows.set_received(c, run.rows.counts_on_host(c, c.op.out[0], c.out[0]));
}

void send_expert_rows(const Call& c, Execution& run, View from, View to, std::int64_t columns,
                      bool back) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const Counts counts = run.rows.counts_on_host(c, c.op.in[1], c.in[1]);
  const std::int64_t experts = c.op.attr.experts, local = c.op.attr.local_experts;
  const int etp = run.program.plan.expert.etp, mine_of_peers = run.ranks.expert().etp;
  const auto rows = [&](int source, int owner) {
    const std::int64_t rank = std::int64_t{source} * etp + mine_of_peers;
    const std::int32_t* first = counts.data() + rank * experts + owner * local;
    return std::accumulate(first, first + local, std::int64_t{0});
  };
  const bool narrow = c.op.attr.wire < 1;
  const std::int64_t row_bytes = narrow ? narrow_row_bytes(columns) : bytes_of(from.dtype, columns);
  std::vector<std::int64_t> send_bytes(static_cast<std::size_t>(comm.size()));
  std::vector<std::int64_t> recv_bytes(send_bytes.size());
  for (int r = 0; r < comm.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t mine = row_bytes * rows(comm.rank(), r);  // my rows at r's experts
    const std::int64_t theirs = row_bytes * rows(r, comm.rank());
    send_bytes[i] = back ? theirs : mine;
    recv_bytes[i] = back ? mine : theirs;
  }
  if (!narrow) return comm.all_to_all(bytes(from), send_bytes, bytes(to), recv_bytes);
  const Block sent = run.scratch.take_bytes(from.rows * row_bytes);
  const Block received = run.scratch.take_bytes(to.rows * row_bytes);
  run.kernels.pack_rows(from, sent.data());
  comm.all_to_all(sent.room(), send_bytes, received.room(), recv_bytes);
  run.kernels.unpack_rows(received.data(), 1, false, to);
}

void exchange_rows(const Call& c, Execution& run) {
  send_expert_rows(c, run, c.in[0], c.out[0], row_columns(c), false);
}

void exchange_rows_back(const Call& c, Execution& run) {
  send_expert_rows(c, run, c.in[0], c.out[0], row_columns(c), true);
}

// On the way the rows are in the order of the ranks that sent them.
void exchange_sorted(const Call& c, Execution& run) {
  const std::int64_t columns = row_columns(c);
  const View sorted = rows_of_columns(c.out[0], columns);
  const Scratch way = run.scratch.take(sorted.dtype, sorted.rows, columns);
  send_expert_rows(c, run, c.in[0], way.view(), columns, false);
  run.kernels.sort_chunks(way.view(), c.in[1], chunk_shape(c.op, run), sorted);
}

void exchange_sorted_back(const Call& c, Execution& run) {
  const std::int64_t columns = row_columns(c);
  const View sorted = rows_of_columns(c.in[0], columns);
  const Scratch way = run.scratch.take(sorted.dtype, sorted.rows, columns);
  run.kernels.unsort_chunks(sorted, c.in[1], chunk_shape(c.op, run), way.view());
  send_expert_rows(c, run, way.view(), c.out[0], columns, true);
}

void gather_peer_rows(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  std::vector<std::int64_t> sizes = elements_of_peers(c, run, comm);
  for (std::int64_t& size : sizes) size = bytes_of(c.in[0].dtype, size);
  comm.all_gather_ragged(bytes(c.in[0]), bytes(c.out[0]), sizes);
}

void reduce_peer_rows(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  reduce_scatter_ragged(comm, c.in[0], c.out[0], elements_of_peers(c, run, comm));
}

}  // namespace pleat::execute
