// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives and the transfers between pipeline stages.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "backend/executor.hpp"
#include "backend/narrow_rows.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {

void Executor::collective(const Call& c) {
  if (c.op.module == Module::grad_sync) {
    if (c.site != nullptr) return sharded_collective(c);
    const bool of_parts = c.op.group == Group::tp || c.op.group == Group::embedding;
    if (!of_parts) return bucket_collective(c);
    return gradients_in_shards() ? all_reduce_pieces(c) : all_reduce(c);
  }
  if (family_of(c.op.kind) == OpKind::all_reduce) return all_reduce(c);
  if (c.op.module == Module::optimizer) return gather_matrix(c);
  Communicator& comm = context_.comm(c.op.group);
  const View to = c.out[0];
  if (c.op.group == Group::etp && c.in.size() > 1) return exchange_of_peers(c, comm);
  if (c.op.group == Group::cp || c.op.group == Group::cp_ring) {
    return family_of(c.op.kind) == OpKind::all_gather ? gather_keys(c) : scatter_key_gradients(c);
  }
  if (c.op.group == Group::etp_ep && c.in.size() > 1) return share_picked_rows(c, comm);
  share_rows(c, comm);
  if (c.op.host_sync) bind_routed(c, counts_on_host(c, c.op.out[0], to));
}

// As many to or from every member.
void Executor::share_rows(const Call& c, Communicator& comm) {
  if (c.op.attr.wire < 1) return share_narrow_rows(c, comm);
  const View from = c.in[0], to = c.out[0];
  const auto require = [&](bool sizes_fit) {
    if (sizes_fit) return;
    throw ExecutionError(fmt::format("operation '{}': {} elements to {} over {} ranks", c.op.name,
                                     from.elements(), to.elements(), comm.size()));
  };
  if (family_of(c.op.kind) == OpKind::all_gather) {
    require(from.elements() * comm.size() == to.elements());
    if (is_quantized(from.dtype)) return gather_quantized(c, comm);
    comm.all_gather(bytes(from), bytes(to));
  } else {
    require(to.elements() * comm.size() == from.elements());
    reduce_scatter(c, comm);
  }
}

// What adds to its result needs the sum somewhere first: in this rank's own piece of the input,
// which nothing reads any more.
void Executor::reduce_scatter(const Call& c, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  if (!c.op.attr.accumulate) return pleat::reduce_scatter(comm, from, to);
  View mine = to;
  mine.data = from.at(comm.rank() * to.elements());
  pleat::reduce_scatter(comm, from, mine);
  kernels_.add(to, mine, {}, to);
}

// All ranks' rows in fp8, or the sums of what all have of this rank's, in member order.
void Executor::share_narrow_rows(const Call& c, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  Communicator& hosts = comm.by_host();  // rows are packed there
  const std::vector<std::byte> sent = read_on_host(device_, from, pack_rows);
  const std::int64_t rows = std::max(from.rows, to.rows);  // of the gathered side
  std::vector<std::byte> received(static_cast<std::size_t>(rows * packed_row_bytes(to.cols)));
  if (family_of(c.op.kind) == OpKind::all_gather) {
    hosts.all_gather(sent, received);
    return write_on_host(device_, to, [&](View rows_here) { unpack_rows(received, rows_here); });
  }
  send_bytes_.assign(static_cast<std::size_t>(comm.size()), to.rows * packed_row_bytes(to.cols));
  hosts.all_to_all(sent, send_bytes_, received, send_bytes_);
  std::vector<float> parts(static_cast<std::size_t>(rows * to.cols));
  unpack_rows(received, {parts.data(), DType::fp32, rows, to.cols});
  std::vector<float> sums(static_cast<std::size_t>(to.elements()));
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
  if (c.op.attr.accumulate) {
    const std::vector<float> before = values_of(device_, to);
    std::ranges::transform(sums, before, sums.begin(), std::plus{});
  }
  set_values(device_, to, sums);
}

// In place, of the whole tensor or of the elements that the operation names.
void Executor::all_reduce(const Call& c) {
  const OpAttributes& attr = c.op.attr;
  const View to = c.out[0];
  const std::int64_t elements = attr.n == Dim{} ? to.elements() : attr.n.n;
  if (c.in[0].data != to.data || attr.first + elements > to.elements()) {
    throw ExecutionError(fmt::format("operation '{}': elements [{}, {}) of {}", c.op.name,
                                     attr.first, attr.first + elements, to.elements()));
  }
  Communicator& comm = context_.comm(c.op.group, attr.run);
  sum_gradients(c.op, comm, elements_of(to, attr.first, elements));
}

// Elements of a bucket whose gradients lie in shards: what this rank has of them. The other ranks
// of tp have the same.
void Executor::all_reduce_pieces(const Call& c) {
  const OpAttributes& attr = c.op.attr;
  Communicator& comm = context_.comm(c.op.group, attr.run);
  for (const Piece& p : pieces(bucket_of(c.op, c.op.in[0]))) {
    const std::int64_t first = std::max(attr.first, p.whole);
    const std::int64_t last = std::min(attr.first + attr.n.n, p.whole + p.elements);
    if (first >= last) continue;
    pleat::all_reduce(comm, elements_of(c.out[0], p.shard + (first - p.whole), last - first));
  }
}

// All rows that the etp peers received, or the sums of what they computed back to each.
void Executor::exchange_of_peers(const Call& c, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  const Tensor& tensor = c.site->program->tensor(c.op.in[0]);
  const std::int64_t columns = tensor.shape.size() == 1 ? 1 : from.cols;
  const bool gather = family_of(c.op.kind) == OpKind::all_gather;
  const Counts counts = counts_on_host(c, c.op.in[1], c.in[1]);
  send_bytes_.resize(static_cast<std::size_t>(comm.size()));  // or elements
  for (int p = 0; p < comm.size(); ++p) {
    const std::int64_t elements = columns * rows_of_peer(counts, p);
    send_bytes_[static_cast<std::size_t>(p)] =
        gather ? bytes_of(from.dtype, elements) : elements;
  }
  if (gather) {
    comm.all_gather_ragged(bytes(from), bytes(to), send_bytes_);
  } else {
    reduce_scatter_ragged(comm, from, to, send_bytes_);
  }
}

// Rows to the ranks that own their experts, or back from them. all_counts[rank, expert] tells every
// member how many rows go where; rows are in expert order on the sending side, so that those for
// one member are consecutive.
void Executor::exchange_rows(const Call& c, bool back) {
  Communicator& comm = context_.comm(c.op.group);
  if (c.op.group == Group::cp || c.op.group == Group::cp_heads) {  // as many to every rank
    const auto ranks = static_cast<std::size_t>(comm.size());
    send_bytes_.assign(ranks, bytes_of(c.in[0].dtype, c.in[0].elements()) / comm.size());
    return comm.all_to_all(bytes(c.in[0]), send_bytes_, bytes(c.out[0]), send_bytes_);
  }
  if (c.in.size() > 2) return exchange_tokens(c, back);
  const Tensor& tensor = c.site->program->tensor(c.op.in[0]);
  const std::int64_t columns = tensor.shape.size() == 1 ? 1 : c.in[0].cols;
  if (program_.plan.overlap.tile_level) return exchange_sorted_rows(c, columns, back);
  exchange_rows_of(c, c.in[0], c.out[0], columns, back);
}

void Executor::exchange_rows_of(const Call& c, View from, View to, std::int64_t columns,
                                bool back) {
  Communicator& comm = context_.comm(c.op.group);
  const Counts counts = counts_on_host(c, c.op.in[1], c.in[1]);
  const std::int64_t experts = c.op.attr.experts, local = c.op.attr.local_experts;
  const int etp = program_.plan.expert.etp, mine_of_peers = context_.expert().etp;
  const auto rows = [&](int source, int owner) {
    const std::int64_t rank = std::int64_t{source} * etp + mine_of_peers;
    const std::int32_t* first = counts.data() + rank * experts + owner * local;
    return std::accumulate(first, first + local, std::int64_t{0});
  };
  const bool narrow = c.op.attr.wire < 1;
  const std::int64_t row_bytes =
      narrow ? packed_row_bytes(columns) : bytes_of(from.dtype, columns);
  send_bytes_.resize(static_cast<std::size_t>(comm.size()));
  recv_bytes_.resize(static_cast<std::size_t>(comm.size()));
  for (int r = 0; r < comm.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t mine = row_bytes * rows(comm.rank(), r);  // my rows at r's experts
    const std::int64_t theirs = row_bytes * rows(r, comm.rank());
    send_bytes_[i] = back ? theirs : mine;
    recv_bytes_[i] = back ? mine : theirs;
  }
  if (!narrow) return comm.all_to_all(bytes(from), send_bytes_, bytes(to), recv_bytes_);
  std::vector<std::byte> received(static_cast<std::size_t>(to.rows * row_bytes));
  const std::vector<std::byte> sent = read_on_host(device_, from, pack_rows);
  comm.by_host().all_to_all(sent, send_bytes_, received, recv_bytes_);
  write_on_host(device_, to, [&](View rows_here) { unpack_rows(received, rows_here); });
}

void Executor::ring_shift(const Call& c) {
  Communicator& ring = context_.comm(c.op.group);
  const int n = ring.size();
  ring.send((ring.rank() + 1) % n, bytes(c.in[0]), 0);
  ring.recv((ring.rank() + n - 1) % n, bytes(c.out[0]), 0);
}

// A message is known by its microbatch, the earlier of the two virtual stages and its direction. In
// a V a stage sends to itself where the V turns.
void Executor::send_or_recv(const Call& c) {
  const bool to_next = c.op.group == Group::pp_next;
  const OpSite& site = *c.site;
  const StagePlace other = neighbour(schedule_, stage_.stage, site.chunk, to_next ? 1 : -1);
  const int earlier = virtual_stage(schedule_, stage_.stage, site.chunk) - (to_next ? 0 : 1);
  const int boundary = site.microbatch.value * virtual_stages(schedule_) + earlier;
  const int tag = 2 * boundary + (site.pass == Pass::forward ? 0 : 1);
  if (c.op.kind == OpKind::send) {
    context_.pipeline().send(other.stage.value, bytes(c.in[0]), tag);
  } else {
    context_.pipeline().recv(other.stage.value, bytes(c.out[0]), tag);
  }
}

}  // namespace pleat
