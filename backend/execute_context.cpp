// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism around the attention core: a rank's tokens and their positions, keys and
// values of other ranks, heads exchanged against sequence.
#include <fmt/format.h>

#include <algorithm>

#include "backend/context_shard.hpp"
#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {
namespace {

// Between kv [S, n * (key + value)] with the rotary columns of kpe, and keys and values of `heads`
// heads from `first` on, [S, heads * (key + rope + value)].
struct WholeKeys {
  const OpAttributes& a;
  std::int64_t first, heads;

  [[nodiscard]] ColumnBlocks blocks(std::int64_t width, std::int64_t at_kv,
                                    std::int64_t at_whole) const {
    const std::int64_t local = a.head_dim + a.v_dim;
    return {.blocks = heads,
            .width = width,
            .from_first = first * local + at_kv,
            .from_stride = local,
            .to_first = at_whole,
            .to_stride = local + a.rope_dim};
  }
  void pack(KernelSet& k, View kv, View kpe, View whole) const {
    k.copy_columns(kv, whole, blocks(a.head_dim, 0, 0));
    k.copy_columns(kv, whole, blocks(a.v_dim, a.head_dim, a.head_dim + a.rope_dim));
    if (a.rope_dim == 0) return;
    ColumnBlocks rotary = blocks(a.rope_dim, 0, a.head_dim);
    rotary.from_first = kpe.cols - a.rope_dim;
    rotary.from_stride = 0;
    k.copy_columns(kpe, whole, rotary);
  }
  // Adds to dkpe's rotary columns.
  void unpack(KernelSet& k, View whole, View dkv, View dkpe) const {
    const auto inverse = [](ColumnBlocks b) {
      std::swap(b.from_first, b.to_first);
      std::swap(b.from_stride, b.to_stride);
      return b;
    };
    k.copy_columns(whole, dkv, inverse(blocks(a.head_dim, 0, 0)));
    k.copy_columns(whole, dkv, inverse(blocks(a.v_dim, a.head_dim, a.head_dim + a.rope_dim)));
    if (a.rope_dim == 0) return;
    ColumnBlocks rotary = inverse(blocks(a.rope_dim, 0, a.head_dim));
    rotary.to_first = dkpe.cols - a.rope_dim;
    rotary.to_stride = 0;
    rotary.add = true;
    k.copy_columns(whole, dkpe, rotary);
  }
};

}  // namespace

// Of every sequence of the microbatch; nothing where each is one document.
std::vector<std::int32_t> Executor::document_starts(const OpSite& site) const {
  const WorkloadSpec& w = program_.workload;
  if (batches_->rules().reset_attention) {  // the documents of the data
    std::vector<std::int32_t> starts(
        static_cast<std::size_t>(program_.plan.micro_batch * w.seq_len));
    batches_->document_starts(step_, site.microbatch.value, context_.attention().dp, starts);
    return starts;
  }
  if (w.documents.empty()) return {};
  const std::int64_t batch = program_.plan.micro_batch, dp = program_.plan.attention.dp;
  const std::int64_t first =
      step_ * w.global_batch + (site.microbatch.value * dp + context_.attention().dp) * batch;
  std::vector<std::int32_t> starts(static_cast<std::size_t>(batch * w.seq_len));
  for (std::int64_t b = 0; b < batch; ++b) {
    packed_documents(w.documents, first + b,
                     std::span(starts).subspan(static_cast<std::size_t>(b * w.seq_len),
                                               static_cast<std::size_t>(w.seq_len)));
  }
  return starts;
}

// Where this rank's tokens lie in their documents; nothing where row r is position r % seq.
std::vector<std::int32_t> Executor::token_positions(const OpSite& site) const {
  const std::int64_t ranks = program_.plan.attention.cp, seq = program_.workload.seq_len;
  const bool of_data = batches_->rules().reset_positions;
  if (ranks == 1 && program_.workload.documents.empty() && !of_data) return {};
  const std::int64_t batch = program_.plan.micro_batch;
  std::vector<std::int32_t> whole(static_cast<std::size_t>(batch * seq));
  if (of_data) {
    batches_->positions(step_, site.microbatch.value, context_.attention().dp, whole);
  } else {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % seq);
    }
  }
  if (!of_data && !batches_->rules().reset_attention && !program_.workload.documents.empty()) {
    const std::vector<std::int32_t> starts = document_starts(site);
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] -= starts[i];
  }
  const std::vector<std::int32_t> own =
      positions({.seq = seq, .ranks = ranks, .first = context_.attention().cp, .count = 1});
  std::vector<std::int32_t> places;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (const std::int32_t p : own) places.push_back(whole[static_cast<std::size_t>(b * seq + p)]);
  }
  return places;
}

// Of the microbatch's tokens, sequence by sequence, the numbers of those that lie on this rank.
std::vector<std::int32_t> Executor::own_tokens(const Call& c) const {
  const std::int64_t seq = c.op.attr.seq;
  const std::vector<std::int32_t> own = positions({.seq = seq,
                                                   .ranks = program_.plan.attention.cp,
                                                   .first = context_.attention().cp,
                                                   .count = 1});
  std::vector<std::int32_t> all;
  for (std::int64_t b = 0; b < c.op.attr.batch; ++b) {
    for (const std::int32_t p : own) all.push_back(static_cast<std::int32_t>(b * seq) + p);
  }
  return all;
}

// Of the whole microbatch.
void Executor::read_labels(const Call& c) {
  labels_.resize(static_cast<std::size_t>(c.op.attr.batch * c.op.attr.seq));
  batches_->labels(step_, c.site->microbatch.value, context_.attention().dp, labels_);
}

// The token one position later is the label, one further on the next one's; behind a label that does
// not count, and behind the sequence, is no token.
void Executor::fill_tokens(const Call& c, View tokens) {
  if (const std::int64_t ahead = c.op.attr.ahead; ahead > 0) {
    read_labels(c);
    const std::int64_t seq = c.op.attr.seq;
    for (std::int64_t i = 0; i < std::ssize(labels_); ++i) {
      const bool behind = i % seq + ahead > seq;
      const std::int32_t token =
          behind ? 0 : labels_[static_cast<std::size_t>(i + ahead - 1)];  // not written yet
      labels_[static_cast<std::size_t>(i)] = std::max(token, 0);
    }
  } else {
    labels_.resize(static_cast<std::size_t>(c.op.attr.batch * c.op.attr.seq));
    batches_->tokens(step_, c.site->microbatch.value, context_.attention().dp, labels_);
  }
  std::ranges::transform(own_tokens(c), tokens.i32(), [&](std::int32_t token) {
    return labels_[static_cast<std::size_t>(token)];
  });
}

// The labels; of every `depth_rows` the parts but the first are prediction depths': so many positions
// later, on whichever rank that is, -1 where a sequence has no more.
void Executor::fill_labels(const Call& c, View labels) {
  const std::int64_t seq = c.op.attr.seq, every = c.op.attr.depth_rows;
  const std::int64_t part = every / (1 + c.op.attr.depths);
  read_labels(c);
  const std::vector<std::int32_t> own = own_tokens(c);
  const auto label = [&](std::int32_t token) { return labels_[static_cast<std::size_t>(token)]; };
  if (every == 0) {
    std::ranges::transform(own, labels.i32(), label);
    return;
  }
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const std::int64_t ahead = i % every / part;
    const std::int32_t token = own[static_cast<std::size_t>(i / every * part + i % part)];
    std::int32_t found = label(token);
    for (std::int64_t d = 1; d <= ahead; ++d) {  // behind what does not count: another document
      const bool none = found < 0 || token % seq + d >= seq;
      found = none ? -1 : label(token + static_cast<std::int32_t>(d));
    }
    labels.i32()[i] = found;
  }
}

// A learned row for every token's place in its document, or its gradient: for runs of neighbours at
// once.
void Executor::add_positions(const Call& c) {
  const bool backward = c.op.kind == OpKind::embedding_bwd;
  if (backward ? c.out.size() == 1 : c.in.size() == 2) return;
  const OpAttributes& a = c.op.attr;
  const View x = backward ? c.in[0] : c.out[0], table = backward ? c.out[1] : c.in[2];
  const auto add = [&](View rows, View places, std::int64_t count) {
    backward ? kernels_.add_positions_bwd(rows, count, a.bias_scale, places)
             : kernels_.add_positions(places, count, a.bias_scale, rows);
  };
  const std::vector<std::int32_t> places = token_positions(*c.site);
  if (places.empty()) return add(x, table, a.seq);
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    const auto first = static_cast<std::int64_t>(begin);
    const auto count = static_cast<std::int64_t>(end - begin);
    add(rows_of(x, first, count), rows_of(table, places[begin], count), count);
    begin = end;
  }
}

// This rank's keys and values as they travel: the last columns of qkv, or all of kv, or kv with the
// rotary part put into every head.
void Executor::pack_keys(const Call& c, View piece) {
  if (c.in.size() == 2) {
    return WholeKeys{c.op.attr, 0, c.op.attr.heads}.pack(kernels_, c.in[0], c.in[1], piece);
  }
  kernels_.copy_columns(c.in[0], piece,
                        {.width = piece.cols, .from_first = c.in[0].cols - piece.cols});
}

void Executor::unpack_keys(const Call& c, View piece) {
  if (c.out.size() == 2) {
    kernels_.zero(c.out[1]);
    return WholeKeys{c.op.attr, 0, c.op.attr.heads}.unpack(kernels_, piece, c.out[0], c.out[1]);
  }
  kernels_.copy_columns(piece, c.out[0],
                        {.width = piece.cols, .to_first = c.out[0].cols - piece.cols});
}

// Keys and values of every shard, in rank order; each packs its own where it belongs.
void Executor::gather_keys(const Call& c) {
  Communicator& comm = context_.comm(c.op.group);
  const View all = c.out[0];
  const std::int64_t rows = all.rows / comm.size();
  const View own = rows_of(all, rows * comm.rank(), rows);
  pack_keys(c, own);
  comm.all_gather(bytes(own), bytes(all));
}

// Sums every shard's gradients of this rank's keys and values.
void Executor::scatter_key_gradients(const Call& c) {
  Communicator& comm = context_.comm(c.op.group);
  const View all = c.in[0];
  const std::int64_t rows = all.rows / comm.size();
  const View own = rows_of(all, rows * comm.rank(), rows);
  pleat::reduce_scatter(comm, all, own);
  unpack_keys(c, own);
}

// Columns of this rank's tokens to and from the ranks that have their heads.
void Executor::exchange_columns(const Call& c, bool split) {
  const OpAttributes& a = c.op.attr;
  const std::int64_t ranks = context_.comm(c.op.group).size();
  const View by_token = split ? c.in[0] : c.out[0], by_rank = split ? c.out[0] : c.in[0];
  const bool with_rotary = (split ? c.in.size() : c.out.size()) == 2;
  const std::int64_t rows = by_rank.rows / ranks;
  if (with_rotary && !split) kernels_.zero(c.out[1]);
  for (std::int64_t r = 0; r < ranks; ++r) {
    const View piece = rows_of(by_rank, r * rows, rows);
    if (with_rotary) {
      const WholeKeys keys{a, r * a.heads / ranks, a.heads / ranks};
      split ? keys.pack(kernels_, by_token, c.in[1], piece)
            : keys.unpack(kernels_, piece, by_token, c.out[1]);
      continue;
    }
    std::int64_t at_token = 0, at_rank = 0;
    // A rank's share of `count` blocks; with fewer blocks than ranks several have the same one.
    const auto section = [&](std::int64_t count, std::int64_t width) {
      if (count * width == 0) return;
      const std::int64_t local = std::max<std::int64_t>(1, count / ranks) * width;
      ColumnBlocks b{
          .width = local, .from_first = at_token + r * count / ranks * width, .to_first = at_rank};
      if (split) {
        kernels_.copy_columns(by_token, piece, b);
      } else {
        std::swap(b.from_first, b.to_first);
        b.add = r * count % ranks != 0 && count < ranks;
        kernels_.copy_columns(piece, by_token, b);
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
void Executor::exchange_rows_order(const Call& c, bool to_sequence) {
  const std::int64_t ranks = context_.comm(c.op.group).size(), batch = program_.plan.micro_batch;
  const View from = c.in[0], to = c.out[0];
  const std::int64_t chunk = from.rows / (2 * ranks * batch);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < ranks; ++r) {
      for (const bool late : {false, true}) {
        const std::int64_t by_rank = ((r * batch + b) * 2 + (late ? 1 : 0)) * chunk;
        const std::int64_t place = late ? 2 * ranks - 1 - r : r;
        const std::int64_t by_place = (b * 2 * ranks + place) * chunk;
        kernels_.copy(rows_of(from, to_sequence ? by_rank : by_place, chunk),
                      rows_of(to, to_sequence ? by_place : by_rank, chunk));
      }
    }
  }
}

}  // namespace pleat
