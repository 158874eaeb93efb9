// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention by way of cuDNN, and the sequence lengths that cuDNN takes.
#include <algorithm>
#include <optional>

#include "kernels/cuda/cudnn_layout.hpp"
#include "kernels/score_gradients.hpp"

namespace pleat::cuda {

std::int64_t heads_at_once(const SdpaShape& s, bool deterministic) {
  if (!deterministic || !s.backward) return s.heads;
  return pleat::heads_at_once({s.batch, s.heads, s.groups, s.seq, s.key_count()}, most_score_bytes);
}

// Graphs are kept by the number of sequences: a power of two, the last ones empty.
Sequences::Sequences(const VisibleSequences& seen, std::int64_t rows, SdpaShape& shape)
    : rows_(rows) {
  shape.window = seen.window;
  if (seen.count() == shape.batch) return;
  std::int64_t n = 16;
  while (n < seen.count()) n *= 2;
  shape.ragged = true;
  shape.batch = n;
  const auto first = [&](std::int64_t s) {
    return s < seen.count() ? seen.first[static_cast<std::size_t>(s)]
                            : static_cast<std::int32_t>(rows);
  };
  for (std::int64_t s = 0; s < n; ++s) numbers_.push_back(first(s + 1) - first(s));
  for (const std::int64_t ld : {shape.q.ld, shape.k.ld, shape.v.ld, shape.o.ld}) {
    for (std::int64_t s = 0; s <= n; ++s)
      numbers_.push_back(static_cast<std::int32_t>(first(s) * ld));
  }
  for (std::int64_t s = 0; s < n; ++s) {
    numbers_.insert(numbers_.end(), static_cast<std::size_t>(first(s + 1) - first(s)),
                    static_cast<std::int32_t>(s));
  }
  for (std::int64_t s = 0; s <= n; ++s) numbers_.push_back(first(s));
}

std::size_t Sequences::bytes() const {
  return Scratch::bytes<std::int32_t>(static_cast<std::int64_t>(numbers_.size()));
}

Sequences::OnDevice Sequences::upload(const Resources& r, Scratch& scratch, const SdpaShape& shape,
                                      SdpaPointers& to) const {
  if (!shape.ragged) return {};
  auto* const all = scratch.take<std::int32_t>(static_cast<std::int64_t>(numbers_.size()));
  r.device().stage(all, numbers_.data(), numbers_.size() * sizeof numbers_[0]);
  const std::int64_t n = shape.batch;
  to.lengths = all;
  to.q_first = all + n;
  to.k_first = all + n + (n + 1);
  to.v_first = all + n + 2 * (n + 1);
  to.o_first = all + n + 3 * (n + 1);
  const std::int32_t* const sequence_of = all + n + 4 * (n + 1);
  return {sequence_of, sequence_of + rows_};
}

namespace {

constexpr std::int64_t kKeyCopy = std::int64_t{96} << 20U;  // bytes of keys put together

std::int64_t heads_at_a_time(const MlaShape& s) {
  const std::int64_t rows = s.batch * s.seq, one = rows * (s.nope + s.rope) * 2;
  std::int64_t count = s.heads;
  while (count % 2 == 0 && count > 8 && count * one > kKeyCopy) count /= 2;
  return count;
}

bool fits(const MlaShape& s) {
  return s.nope % 8 == 0 && s.rope % 8 == 0 && s.rope > 0 && s.v % 8 == 0 && s.kv_lora % 8 == 0;
}

// Some heads of all, for all sequences.
struct Run {
  std::int64_t rows, count;
  SdpaShape shape;
  Sequences sequences;

  Run(const MlaShape& s, const VisibleSequences* seen, bool backward, bool deterministic)
      : rows(s.batch * s.seq), count(heads_at_a_time(s)) {
    describe(s, seen, backward);
    const std::int64_t fewer = heads_at_once(shape, deterministic);
    if (fewer == count) return;
    count = fewer;
    describe(s, seen, backward);
  }
  void describe(const MlaShape& s, const VisibleSequences* seen, bool backward) {
    const std::int64_t width = s.nope + s.rope;
    shape = {.batch = s.batch,
             .seq = s.seq,
             .heads = count,
             .groups = count,
             .width = width,
             .value_width = s.v,
             .q = {s.heads * width, width},
             .k = {count * width, width},
             .v = {s.heads * (s.nope + s.v), s.nope + s.v},
             .o = {s.heads * s.v, s.v},
             .scale = static_cast<float>(s.scale),
             .backward = backward};
    if (seen != nullptr) sequences = Sequences(*seen, rows, shape);
  }
  [[nodiscard]] std::int64_t keys() const { return rows * count * shape.width; }
  [[nodiscard]] std::int64_t stats() const { return shape.batch * count * shape.seq; }
};

// A piece's operands as mla_attention's, where they lie like those.
struct Piece {
  MlaOperands x;
  MlaShape shape;
  VisibleSequences seen;
};

std::optional<MlaOperands> operands(const HeadColumns (&q)[2], const HeadColumns (&k)[2],
                                    const HeadColumns& v, const MlaShape& s) {
  const std::int64_t own = s.nope + s.v, width = s.nope + s.rope;
  const auto lies = [](const HeadColumns& c, std::int64_t first, std::int64_t stride,
                       std::int64_t columns) {
    return c.first == first && c.stride == stride && c.width == columns && c.share == 1;
  };
  if (q[0].x.data != q[1].x.data || k[0].x.data != v.x.data) return std::nullopt;
  if (!lies(q[0], 0, width, s.nope) || !lies(q[1], s.nope, width, s.rope)) return std::nullopt;
  if (!lies(k[0], 0, own, s.nope) || !lies(v, s.nope, own, s.v)) return std::nullopt;
  if (!lies(k[1], s.kv_lora, 0, s.rope)) return std::nullopt;
  if (q[0].x.cols != s.heads * width || v.x.cols != s.heads * own) return std::nullopt;
  if (k[1].x.cols != s.kv_lora + s.rope) return std::nullopt;
  return MlaOperands{q[0].x, v.x, k[1].x};
}

std::optional<Piece> as_mla(const AttentionPiece& p, const HeadColumns& o) {
  const std::int64_t rows = p.q[0].x.rows;
  const MlaShape s{.batch = p.batch,
                   .seq = rows / p.batch,
                   .heads = p.heads,
                   .nope = p.q[0].width,
                   .rope = p.q[1].width,
                   .v = p.v.width,
                   .kv_lora = p.k[1].first,
                   .scale = p.scale};
  const auto x = operands(p.q, p.k, p.v, s);
  if (!x || x->kv.rows != rows || x->kpe.rows != rows) return std::nullopt;
  if (o.first != 0 || o.stride != s.v || o.x.cols != s.heads * s.v || o.share != 1)
    return std::nullopt;
  if (rows * std::max({x->q.cols, x->kv.cols, o.x.cols}) > INT32_MAX) return std::nullopt;
  auto seen = as_sequences(p.visible, p.batch, s.seq);
  if (!seen) return std::nullopt;
  return Piece{*x, s, std::move(*seen)};
}

}  // namespace

bool CudnnMla::forward(const MlaOperands& x, View o, View lse, const MlaShape& s,
                       const VisibleSequences* seen) {
  if (!all_bf16(x.q, x.kv, x.kpe, o) || !fits(s)) return false;
  const Run run(s, seen, false, library_.deterministic());
  const std::int64_t bytes = library_.prepare(run.shape);
  if (bytes < 0) return false;
  Scratch scratch(r_, Scratch::bytes<std::uint16_t>(run.keys()) +
                          Scratch::bytes<float>(run.stats()) + run.sequences.bytes() +
                          Scratch::bytes<std::byte>(bytes));
  SdpaPointers p;
  auto* const k = scratch.take<std::uint16_t>(run.keys());
  p.k = k;
  p.stats = scratch.take<float>(run.stats());
  const Sequences::OnDevice there = run.sequences.upload(r_, scratch, run.shape, p);
  void* const workspace = scratch.take<std::byte>(bytes);
  for (std::int64_t first = 0; first < s.heads; first += run.count) {
    const HeadRange heads{first, run.count, s.heads};
    join_mla_keys(r_, x.kv, x.kpe, k, s, heads);
    p.q = at(x.q, first * run.shape.width);
    p.v = at(x.kv, first * (s.nope + s.v) + s.nope);
    p.o = at(o, first * s.v);
    library_.run(run.shape, p, workspace);
    if (run.shape.ragged) {
      ragged_stats_to_lse(r_, p.stats, lse, s.seq, heads, there);
    } else {
      stats_to_lse(r_, p.stats, lse, s.seq, heads);
    }
  }
  return true;
}

bool CudnnMla::backward(View d_o, const MlaOperands& x, View o, View lse, const MlaOperands& to,
                        const MlaShape& s, const VisibleSequences* seen, bool add) {
  if (!all_bf16(d_o, x.q, x.kv, x.kpe, o, to.q, to.kv, to.kpe) || !fits(s)) return false;
  const Run run(s, seen, true, library_.deterministic());
  const std::int64_t bytes = library_.prepare(run.shape);
  if (bytes < 0) return false;
  const auto room = [&](View v) {
    return add ? Scratch::bytes<std::uint16_t>(v.elements()) : 0;
  };
  Scratch scratch(r_, 2 * Scratch::bytes<std::uint16_t>(run.keys()) +
                          Scratch::bytes<float>(run.stats()) +
                          Scratch::bytes<float>(run.rows * s.rope) + run.sequences.bytes() +
                          room(to.q) + room(to.kv) + Scratch::bytes<std::byte>(bytes));
  SdpaPointers p;
  auto *const k = scratch.take<std::uint16_t>(run.keys()),
             *const dk = scratch.take<std::uint16_t>(run.keys());
  p.k = k;
  p.dk = dk;
  p.stats = scratch.take<float>(run.stats());
  auto* const shared = scratch.take<float>(run.rows * s.rope);
  const auto written = [&](View v) {  // what is added to the sums afterwards, or they themselves
    return add ? View{scratch.take<std::uint16_t>(v.elements()), DType::bf16, v.rows, v.cols} : v;
  };
  const View dq = written(to.q), dkv = written(to.kv);
  const Sequences::OnDevice there = run.sequences.upload(r_, scratch, run.shape, p);
  void* const workspace = scratch.take<std::byte>(bytes);
  for (std::int64_t first = 0; first < s.heads; first += run.count) {
    const HeadRange heads{first, run.count, s.heads};
    join_mla_keys(r_, x.kv, x.kpe, k, s, heads);
    if (run.shape.ragged) {
      lse_to_ragged_stats(r_, lse, p.stats, s.seq, heads, there);
    } else {
      lse_to_stats(r_, lse, p.stats, s.seq, heads);
    }
    p.q = at(x.q, first * run.shape.width);
    p.v = at(x.kv, first * (s.nope + s.v) + s.nope);
    p.o = at(o, first * s.v);
    p.d_o = at(d_o, first * s.v);
    p.dq = at(dq, first * run.shape.width);
    p.dv = at(dkv, first * (s.nope + s.v) + s.nope);
    library_.run(run.shape, p, workspace);
    split_mla_key_gradients(r_, dk, dkv, shared, first > 0, s, heads);
  }
  if (add) {
    add_bf16(r_, dq, to.q);
    add_bf16(r_, dkv, to.kv);
  }
  write_mla_shared_gradient(r_, shared, to.kpe, add, s);
  return true;
}

bool CudnnMla::forward(const AttentionPiece& p, HeadColumns o, View lse) {
  const auto piece = as_mla(p, o);
  return piece && forward(piece->x, o.x, lse, piece->shape, &piece->seen);
}

bool CudnnMla::backward(const AttentionPiece& p, HeadColumns d_o, HeadColumns o, View lse,
                        const AttentionPieceGradient& g) {
  const auto piece = as_mla(p, o);
  if (!piece || d_o.first != 0 || d_o.stride != o.stride || d_o.x.cols != o.x.cols) return false;
  const auto to = operands(g.dq, g.dk, g.dv, piece->shape);
  return to && backward(d_o.x, piece->x, o.x, lse, *to, piece->shape, &piece->seen, true);
}

}  // namespace pleat::cuda
