// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// cuDNN's attention on our layouts: heads packed in rows, lse by rows.
#include <algorithm>
#include <optional>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/cudnn_layout.hpp"
#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_heads.hpp"
#include "kernels/cuda/visible_keys.hpp"
#include "kernels/score_gradients.hpp"

namespace pleat::cuda {
namespace {

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention(Resources& r, bool deterministic)
      : r_(r), library_(r, deterministic), mla_(r, library_) {}

  bool forward(View qkv, View o, View lse, const AttentionShape& s) override {
    if (!all_bf16(qkv, o) || !fits(s)) return false;
    const SdpaShape shape = shape_of(s, false);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    Scratch scratch(r_, Scratch::bytes<float>(lse.elements()) + Scratch::bytes<std::byte>(bytes));
    SdpaPointers p = pointers(qkv, s);
    p.o = o.data;
    p.stats = scratch.take<float>(lse.elements());
    library_.run(shape, p, scratch.take<std::byte>(bytes));
    stats_to_lse(r_, p.stats, lse, s.seq, {0, s.heads, s.heads});
    return true;
  }

  bool backward(View d_o, View qkv, View o, View lse, View dqkv, const AttentionShape& s) override {
    if (!all_bf16(d_o, qkv, o, dqkv) || !fits(s)) return false;
    if (library_.deterministic() && goes_in_runs(scores_of(s), most_group_bytes)) return false;
    const SdpaShape shape = some_heads(shape_of(s, true));
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    const std::int64_t stats = shape.batch * shape.heads * shape.seq;
    Scratch scratch(r_, Scratch::bytes<float>(stats) + Scratch::bytes<std::byte>(bytes));
    SdpaPointers p;
    p.stats = scratch.take<float>(stats);
    void* const workspace = scratch.take<std::byte>(bytes);
    for (std::int64_t first = 0; first < s.heads; first += shape.heads) {
      const SdpaPointers from = pointers(qkv, s, first), to = pointers(dqkv, s, first);
      p.q = from.q;
      p.k = from.k;
      p.v = from.v;
      p.o = at(o, first * s.value_dim());
      p.d_o = at(d_o, first * s.value_dim());
      p.dq = const_cast<void*>(to.q);
      p.dk = const_cast<void*>(to.k);
      p.dv = const_cast<void*>(to.v);
      lse_to_stats(r_, lse, p.stats, s.seq, {first, shape.heads, s.heads});
      library_.run(shape, p, workspace);
    }
    return true;
  }

  bool forward(View q, View kv, View kpe, View o, View lse, const MlaShape& s) override {
    return mla_.forward({q, kv, kpe}, o, lse, s);
  }
  bool backward(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv, View dkpe,
                const MlaShape& s) override {
    return mla_.backward(d_o, {q, kv, kpe}, o, lse, {dq, dkv, dkpe}, s);
  }

  bool forward(const AttentionPiece& p, HeadColumns o, View lse) override {
    if (p.q[1].width > 0) return mla_.forward(p, o, lse);
    PackedRun run(p, o, false);
    if (!run.fits || !all_bf16(o.x)) return false;
    const std::int64_t bytes = library_.prepare(run.shape);
    if (bytes < 0) return false;
    const std::int64_t stats = run.shape.batch * run.shape.heads * run.shape.seq;
    Scratch scratch(r_, Scratch::bytes<float>(stats) + run.sequences.bytes() +
                            Scratch::bytes<std::byte>(bytes));
    SdpaPointers to = run.pointers(p);
    to.o = at(o.x, o.first);
    to.stats = scratch.take<float>(stats);
    const Sequences::OnDevice there = run.sequences.upload(r_, scratch, run.shape, to);
    library_.run(run.shape, to, scratch.take<std::byte>(bytes));
    if (run.shape.ragged) {
      ragged_stats_to_lse(r_, to.stats, lse, run.shape.seq, {0, p.heads, p.heads},
                          there);
    } else {
      stats_to_lse(r_, to.stats, lse, run.shape.seq, {0, p.heads, p.heads});
    }
    return true;
  }

  bool takes_codes(const AttentionPiece& p, HeadColumns o) override {
    return p.math == DType::fp8 && run_of_codes(p, o).fits;
  }

  bool forward_of_codes(const AttentionPiece& p, HeadColumns o, View lse) override {
    if (!takes_codes(p, o)) return false;
    const PackedRun run = run_of_codes(p, o);
    const std::int64_t bytes = library_.prepare(run.shape), all = p.q[0].x.elements();
    const std::int64_t numbers = static_cast<std::int64_t>(CodeFactor::count) * kFactorStep;
    Scratch scratch(r_, Scratch::bytes<std::uint8_t>(all) +
                            Scratch::bytes<std::uint8_t>(o.x.elements()) +
                            Scratch::bytes<float>(3) + Scratch::bytes<float>(numbers) +
                            Scratch::bytes<float>(lse.elements()) +
                            Scratch::bytes<std::byte>(bytes));
    auto* const codes = scratch.take<std::uint8_t>(all);
    auto* const out = scratch.take<std::uint8_t>(o.x.elements());
    auto* const largest = scratch.take<float>(3);
    SdpaPointers to;
    to.factors = scratch.take<float>(numbers);
    encode_heads(r_, p, codes, largest, to.factors);
    to.q = codes + p.q[0].first;
    to.k = codes + p.k[0].first;
    to.v = codes + p.v.first;
    to.o = out;
    to.stats = scratch.take<float>(lse.elements());
    library_.run(run.shape, to, scratch.take<std::byte>(bytes));
    decode_heads(r_, out, to.factors, o.x);
    stats_to_lse(r_, to.stats, lse, run.shape.seq, {0, p.heads, p.heads});
    return true;
  }

  bool backward(const AttentionPiece& p, HeadColumns d_o, HeadColumns o, View lse,
                const AttentionPieceGradient& g) override {
    if (p.q[1].width > 0) return mla_.backward(p, d_o, o, lse, g);
    PackedRun run(p, o, true);
    if (!run.fits || !all_bf16(o.x, d_o.x, g.dq[0].x) || !same_columns(o, d_o)) return false;
    if (!same_columns(p.q[0], g.dq[0]) || !same_columns(p.k[0], g.dk[0]) ||
        !same_columns(p.v, g.dv))
      return false;
    if (g.dk[0].x.data != g.dq[0].x.data || g.dv.x.data != g.dq[0].x.data) return false;
    const SdpaShape shape = some_heads(run.shape);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    const std::int64_t stats = shape.batch * shape.heads * shape.seq;
    const View sums = g.dq[0].x;
    Scratch scratch(r_, Scratch::bytes<float>(stats) +
                            Scratch::bytes<std::uint16_t>(sums.elements()) + run.sequences.bytes() +
                            Scratch::bytes<std::byte>(bytes));
    SdpaPointers to = run.pointers(p);
    const View gradient{scratch.take<std::uint16_t>(sums.elements()), DType::bf16, sums.rows,
                        sums.cols};
    to.stats = scratch.take<float>(stats);
    const Sequences::OnDevice there = run.sequences.upload(r_, scratch, shape, to);
    void* const workspace = scratch.take<std::byte>(bytes);
    for (std::int64_t first = 0; first < p.heads; first += shape.heads) {
      const HeadRange heads{first, shape.heads, p.heads};
      to.q = at(p.q[0].x, begin(p.q[0], first));
      to.k = at(p.k[0].x, begin(p.k[0], first));
      to.v = at(p.v.x, begin(p.v, first));
      to.o = at(o.x, begin(o, first));
      to.d_o = at(d_o.x, begin(d_o, first));
      to.dq = at(gradient, begin(p.q[0], first));
      to.dk = at(gradient, begin(p.k[0], first));
      to.dv = at(gradient, begin(p.v, first));
      if (shape.ragged) {
        lse_to_ragged_stats(r_, lse, to.stats, shape.seq, heads, there);
      } else {
        lse_to_stats(r_, lse, to.stats, shape.seq, heads);
      }
      library_.run(shape, to, workspace);
    }
    add_bf16(r_, gradient, sums);
    return true;
  }

  bool forward(const AttentionBlock& b, HeadColumns o, View lse) override {
    const auto shape = shape_of(b, o, false);
    const std::int64_t bytes = shape ? library_.prepare(*shape) : -1;
    if (bytes < 0) return false;
    Scratch scratch(r_, Scratch::bytes<float>(lse.elements()) + Scratch::bytes<std::byte>(bytes));
    SdpaPointers p = pointers(b, o);
    p.stats = scratch.take<float>(lse.elements());
    library_.run(*shape, p, scratch.take<std::byte>(bytes));
    stats_to_lse(r_, p.stats, lse, shape->seq, {0, b.heads, b.heads});
    return true;
  }

  bool backward(const AttentionBlock& b, HeadColumns d_o, HeadColumns o, View lse, View dq, View dk,
                View dv) override {
    const auto all = shape_of(b, o, true);
    if (!all || !all_bf16(d_o.x, dq, dk, dv) || !same_columns(o, d_o)) return false;
    const SdpaShape shape = some_heads(*all);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    const std::int64_t stats = shape.heads * shape.seq;
    Scratch scratch(r_, Scratch::bytes<float>(stats) + Scratch::bytes<std::byte>(bytes));
    auto* const sums = scratch.take<float>(stats);
    void* const workspace = scratch.take<std::byte>(bytes);
    for (std::int64_t first = 0; first < b.heads; first += shape.heads) {
      const std::int64_t group = first / b.k.share;
      SdpaPointers p = pointers(b, o, first);
      p.d_o = at(d_o.x, begin(d_o, first));
      p.dq = at(dq, first * b.q.width);
      p.dk = at(dk, group * b.k.width);
      p.dv = at(dv, group * b.v.width);
      p.stats = sums;
      lse_to_stats(r_, lse, sums, shape.seq, {first, shape.heads, b.heads});
      library_.run(shape, p, workspace);
    }
    return true;
  }

 private:
  // One run of queries and one of keys, in matrices of their own; gradients without other columns.
  static std::optional<SdpaShape> shape_of(const AttentionBlock& b, const HeadColumns& o,
                                           bool backward) {
    const HeadColumns &q = b.q, &k = b.k, &v = b.v;
    if (!all_bf16(q.x, k.x, v.x, o.x) || q.share != 1 || o.share != 1 || k.share != v.share) {
      return std::nullopt;
    }
    for (const std::int64_t n : {q.width, v.width, q.first, k.first, v.first, o.first, q.stride,
                                 k.stride, v.stride, o.stride}) {
      if (n % 8 != 0) return std::nullopt;
    }
    if (q.width > 256 || (b.causal && q.x.rows != k.x.rows)) return std::nullopt;
    const std::int64_t groups = b.heads / k.share;
    return SdpaShape{.batch = 1,
                     .seq = q.x.rows,
                     .heads = b.heads,
                     .groups = groups,
                     .width = q.width,
                     .value_width = v.width,
                     .q = {q.x.cols, q.stride},
                     .k = {k.x.cols, k.stride},
                     .v = {v.x.cols, v.stride},
                     .o = {o.x.cols, o.stride},
                     .dq = {b.heads * q.width, q.width},
                     .dk = {groups * k.width, k.width},
                     .dv = {groups * v.width, v.width},
                     .scale = static_cast<float>(b.scale),
                     .backward = backward,
                     .keys = k.x.rows,
                     .unmasked = !b.causal};
  }
  // From head `first` on, a multiple of those that share keys.
  static SdpaPointers pointers(const AttentionBlock& b, const HeadColumns& o,
                               std::int64_t first = 0) {
    SdpaPointers p;
    p.q = at(b.q.x, begin(b.q, first));
    p.k = at(b.k.x, begin(b.k, first));
    p.v = at(b.v.x, begin(b.v, first));
    p.o = at(o.x, begin(o, first));
    return p;
  }
  static std::int64_t begin(const HeadColumns& c, std::int64_t head) {
    return c.first + head / c.share * c.stride;
  }

  static bool same_columns(const HeadColumns& a, const HeadColumns& b) {
    return a.x.cols == b.x.cols && a.first == b.first && a.stride == b.stride &&
           a.width == b.width && a.share == b.share;
  }

  // A piece as cuDNN takes it: one run a sequence, or sequences of their own lengths.
  struct PackedRun {
    bool fits = false;
    SdpaShape shape;
    Sequences sequences;

    PackedRun(const AttentionPiece& p, const HeadColumns& o, bool backward) {
      const HeadColumns &q = p.q[0], &k = p.k[0], &v = p.v;
      if (p.k[1].width > 0 || !all_bf16(q.x)) return;
      if (q.x.data != k.x.data || q.x.data != v.x.data || q.share != 1 || k.share != v.share ||
          o.share != 1)
        return;
      const std::int64_t groups = p.heads / k.share, cols = q.x.cols, rows = q.x.rows;
      if (cols != p.heads * q.width + groups * (k.width + v.width) || q.width > 256)
        return;  // all are written
      for (const std::int64_t n : {q.width, v.width, q.first, k.first, v.first, o.first, q.stride,
                                   k.stride, v.stride, o.stride}) {
        if (n % 8 != 0) return;
      }
      const auto seen = as_sequences(p.visible, p.batch, rows / p.batch);
      if (!seen || rows * std::max(cols, o.x.cols) > INT32_MAX) return;
      fits = true;
      shape = {.batch = p.batch,
               .seq = rows / p.batch,
               .heads = p.heads,
               .groups = groups,
               .width = q.width,
               .value_width = v.width,
               .q = {cols, q.stride},
               .k = {cols, k.stride},
               .v = {cols, v.stride},
               .o = {o.x.cols, o.stride},
               .scale = static_cast<float>(p.scale),
               .backward = backward};
      sequences = Sequences(*seen, rows, shape);
    }
    [[nodiscard]] SdpaPointers pointers(const AttentionPiece& p) const {
      SdpaPointers to;
      to.q = at(p.q[0].x, p.q[0].first);
      to.k = at(p.k[0].x, p.k[0].first);
      to.v = at(p.v.x, p.v.first);
      return to;
    }
  };

  // `fits` only where cuDNN has a kernel for it, and o is all of its matrix.
  PackedRun run_of_codes(const AttentionPiece& p, const HeadColumns& o) {
    PackedRun run(p, o, false);
    if (!run.fits) return run;
    run.shape.codes = true;
    const bool whole = o.first == 0 && o.stride == o.width && o.x.cols == p.heads * o.width;
    run.fits = whole && all_bf16(o.x) && !run.shape.ragged && p.q[0].x.cols % 16 == 0;
    for (const std::int64_t n : {p.q[0].width, p.v.width, p.q[0].first, p.k[0].first, p.v.first}) {
      run.fits = run.fits && n % 16 == 0;
    }
    run.fits = run.fits && library_.prepare(run.shape) >= 0;
    return run;
  }

  static bool fits(const AttentionShape& s) {
    return s.head_dim % 8 == 0 && s.value_dim() % 8 == 0 && s.head_dim <= 256;
  }
  static SdpaShape shape_of(const AttentionShape& s, bool backward) {
    const SdpaOperand head{s.columns(), s.head_dim}, value{s.columns(), s.value_dim()};
    return {.batch = s.batch,
            .seq = s.seq,
            .heads = s.heads,
            .groups = s.kv_groups,
            .width = s.head_dim,
            .value_width = s.value_dim(),
            .q = head,
            .k = head,
            .v = value,
            .o = {s.heads * s.value_dim(), s.value_dim()},
            .scale = static_cast<float>(s.scale),
            .backward = backward};
  }
  // From head `first` on, a multiple of those that share keys.
  static SdpaPointers pointers(View qkv, const AttentionShape& s, std::int64_t first = 0) {
    const std::int64_t group = first / (s.heads / s.kv_groups);
    SdpaPointers p;
    p.q = at(qkv, first * s.head_dim);
    p.k = at(qkv, (s.heads + group) * s.head_dim);
    p.v = at(qkv, (s.heads + s.kv_groups) * s.head_dim + group * s.value_dim());
    return p;
  }
  [[nodiscard]] SdpaShape some_heads(SdpaShape s) const {
    const std::int64_t share = s.heads / s.groups;
    s.heads = heads_at_once(s, library_.deterministic());
    s.groups = s.heads / share;
    return s;
  }

  Resources& r_;
  SdpaLibrary library_;
  CudnnMla mla_;
};

}  // namespace

std::string cudnn_status() { return SdpaLibrary::status(); }

std::unique_ptr<FusedAttention> fused_attention(Resources& r, bool deterministic) {
  if (!SdpaLibrary::available()) {
    note_refusal("cuDNN", SdpaLibrary::status());
    return nullptr;
  }
  return std::make_unique<CudnnAttention>(r, deterministic);
}

}  // namespace pleat::cuda
