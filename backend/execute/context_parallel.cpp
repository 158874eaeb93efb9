// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/context_parallel.hpp"

#include <algorithm>
#include <utility>

#include "backend/execute/execution.hpp"
#include "backend/execute/packed_keys.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// Columns of this rank's tokens to and from the ranks that have their heads.
void exchange_columns(const Call& c, Execution& run, bool split) {
  const OpAttributes& a = c.op.attr;
  const std::int64_t ranks = run.ranks.comm(c.op.group).size();
  const View by_token = split ? c.in[0] : c.out[0], by_rank = split ? c.out[0] : c.in[0];
  const View rotary = optional_operand(split ? c.in : c.out, 1);  // of latent attention
  const std::int64_t rows = by_rank.rows / ranks;
  if (rotary.data != nullptr && !split) run.kernels.zero(rotary);
  for (std::int64_t r = 0; r < ranks; ++r) {
    const View piece = rows_of(by_rank, r * rows, rows);
    if (rotary.data != nullptr) {
      const WholeKeys keys{a, r * a.heads / ranks, a.heads / ranks};
      split ? keys.pack(run.kernels, by_token, rotary, piece)
            : keys.unpack(run.kernels, piece, by_token, rotary);
      continue;
    }
    std::int64_t at_token = 0, at_rank = 0;
    // A rank's share of `count` blocks. Where there are fewer blocks than ranks, ranks share one.
    const auto section = [&](std::int64_t count, std::int64_t width) {
      if (count * width == 0) return;
      const std::int64_t local = std::max<std::int64_t>(1, count / ranks) * width;
      ColumnBlocks b{
          .width = local, .from_first = at_token + r * count / ranks * width, .to_first = at_rank};
      if (split) {
        run.kernels.copy_columns(by_token, piece, b);
      } else {
        std::swap(b.from_first, b.to_first);
        b.add = r * count % ranks != 0 && count < ranks;
        run.kernels.copy_columns(piece, by_token, b);
      }
      at_token += count * width;
      at_rank += local;
    };
    if (a.kv_groups > 0) {
      section(a.heads, a.head_dim);
      section(a.kv_groups, a.head_dim);
      section(a.kv_groups, a.v_dim);
    } else {
      section(a.heads, a.head_dim + a.v_dim);
    }
  }
}

// Rows of a group of ranks: by rank, then sequence, or by sequence and position.
void reorder_rows(const Call& c, Execution& run, bool to_sequence) {
  const std::int64_t ranks = run.ranks.comm(c.op.group).size(),
                     batch = run.program.plan.micro_batch;
  const View from = c.in[0], to = c.out[0];
  const std::int64_t chunk = from.rows / (2 * ranks * batch);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < ranks; ++r) {
      for (const bool late : {false, true}) {
        const std::int64_t by_rank = ((r * batch + b) * 2 + (late ? 1 : 0)) * chunk;
        const std::int64_t place = late ? 2 * ranks - 1 - r : r;
        const std::int64_t by_place = (b * 2 * ranks + place) * chunk;
        run.kernels.copy(rows_of(from, to_sequence ? by_rank : by_place, chunk),
                         rows_of(to, to_sequence ? by_place : by_rank, chunk));
      }
    }
  }
}

}  // namespace

void split_heads(const Call& c, Execution& run) { exchange_columns(c, run, true); }
void join_heads(const Call& c, Execution& run) { exchange_columns(c, run, false); }
void order_tokens(const Call& c, Execution& run) { reorder_rows(c, run, true); }
void order_ranks(const Call& c, Execution& run) { reorder_rows(c, run, false); }

void pack_keys(const Call& c, Execution& run) { pack_piece(c, run.kernels, c.out[0]); }
void unpack_keys(const Call& c, Execution& run) { unpack_piece(c, run.kernels, c.in[0]); }

// Keys and values of every shard, in rank order; each packs its own where it belongs.
void gather_keys(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const View all = c.out[0];
  const std::int64_t rows = all.rows / comm.size();
  const View own = rows_of(all, rows * comm.rank(), rows);
  pack_piece(c, run.kernels, own);
  comm.all_gather(bytes(own), bytes(all));
}

// Sums every shard's gradients of this rank's keys and values.
void reduce_key_gradients(const Call& c, Execution& run) {
  Communicator& comm = run.ranks.comm(c.op.group);
  const View all = c.in[0];
  const std::int64_t rows = all.rows / comm.size();
  const View own = rows_of(all, rows * comm.rank(), rows);
  pleat::reduce_scatter(comm, all, own);
  unpack_piece(c, run.kernels, own);
}

void ring_shift(const Call& c, Execution& run) {
  Communicator& ring = run.ranks.comm(c.op.group);
  const int n = ring.size();
  ring.send((ring.rank() + 1) % n, bytes(c.in[0]), 0);
  ring.recv((ring.rank() + n - 1) % n, bytes(c.out[0]), 0);
}

}  // namespace pleat::execute
