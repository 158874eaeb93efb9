// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// cuDNN's attention on our layouts: heads packed in rows, lse by rows. MLA's keys, whose rotary
// part all heads share, are put together for some heads at a time, so that their copies stay small.
#include <algorithm>
#include <vector>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cudnn_layout.hpp"
#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/stream.cuh"
#include "kernels/cuda/visible_sequences.hpp"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kMlaCopy = std::int64_t{96} << 20U;  // bytes of keys put together

template <class... Views>
bool all_bf16(Views... views) {
  return ((views.dtype == DType::bf16 && aligned16(views.data) && views.cols % 8 == 0) && ...);
}

std::byte* at(View v, std::int64_t column) {
  return static_cast<std::byte*>(v.data) + bytes_of(v.dtype, column);
}

std::int64_t heads_at_a_time(const MlaShape& s) {
  const std::int64_t rows = s.batch * s.seq, one = rows * (s.nope + s.rope) * 2;
  std::int64_t count = s.heads;
  while (count % 2 == 0 && count > 8 && count * one > kMlaCopy) count /= 2;
  return count;
}

class CudnnAttention final : public FusedAttention {
 public:
  explicit CudnnAttention(Resources& r) : r_(r), library_(r) {}

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
    const SdpaShape shape = shape_of(s, true);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    Scratch scratch(r_, Scratch::bytes<float>(lse.elements()) + Scratch::bytes<std::byte>(bytes));
    SdpaPointers p = pointers(qkv, s);
    const SdpaPointers to = pointers(dqkv, s);
    p.o = o.data;
    p.d_o = d_o.data;
    p.dq = const_cast<void*>(to.q);
    p.dk = const_cast<void*>(to.k);
    p.dv = const_cast<void*>(to.v);
    p.stats = scratch.take<float>(lse.elements());
    lse_to_stats(r_, lse, p.stats, s.seq, {0, s.heads, s.heads});
    library_.run(shape, p, scratch.take<std::byte>(bytes));
    return true;
  }

  bool forward(View q, View kv, View kpe, View o, View lse, const MlaShape& s) override {
    if (!all_bf16(q, kv, kpe, o) || !fits(s)) return false;
    const std::int64_t count = heads_at_a_time(s);
    const SdpaShape shape = shape_of(s, count, false);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    const std::int64_t keys = q.rows * count * shape.width;
    Scratch scratch(r_, Scratch::bytes<std::uint16_t>(keys) +
                            Scratch::bytes<float>(q.rows * count) +
                            Scratch::bytes<std::byte>(bytes));
    SdpaPointers p;
    auto* k = scratch.take<std::uint16_t>(keys);
    p.k = k;
    p.stats = scratch.take<float>(q.rows * count);
    void* workspace = scratch.take<std::byte>(bytes);
    for (std::int64_t first = 0; first < s.heads; first += count) {
      const HeadRange heads{first, count, s.heads};
      join_mla_keys(r_, kv, kpe, k, s, heads);
      p.q = at(q, first * shape.width);
      p.v = at(kv, first * (s.nope + s.v) + s.nope);
      p.o = at(o, first * s.v);
      library_.run(shape, p, workspace);
      stats_to_lse(r_, p.stats, lse, s.seq, heads);
    }
    return true;
  }

  bool backward(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv, View dkpe,
                const MlaShape& s) override {
    if (!all_bf16(d_o, q, kv, kpe, o, dq, dkv, dkpe) || !fits(s)) return false;
    const std::int64_t count = heads_at_a_time(s);
    const SdpaShape shape = shape_of(s, count, true);
    const std::int64_t bytes = library_.prepare(shape);
    if (bytes < 0) return false;
    const std::int64_t keys = q.rows * count * shape.width;
    Scratch scratch(
        r_, 2 * Scratch::bytes<std::uint16_t>(keys) + Scratch::bytes<float>(q.rows * count) +
                Scratch::bytes<float>(q.rows * s.rope) + Scratch::bytes<std::byte>(bytes));
    SdpaPointers p;
    auto *k = scratch.take<std::uint16_t>(keys), *dk = scratch.take<std::uint16_t>(keys);
    p.k = k;
    p.dk = dk;
    p.stats = scratch.take<float>(q.rows * count);
    auto* shared = scratch.take<float>(q.rows * s.rope);
    void* workspace = scratch.take<std::byte>(bytes);
    for (std::int64_t first = 0; first < s.heads; first += count) {
      const HeadRange heads{first, count, s.heads};
      join_mla_keys(r_, kv, kpe, k, s, heads);
      lse_to_stats(r_, lse, p.stats, s.seq, heads);
      p.q = at(q, first * shape.width);
      p.v = at(kv, first * (s.nope + s.v) + s.nope);
      p.o = at(o, first * s.v);
      p.d_o = at(d_o, first * s.v);
      p.dq = at(dq, first * shape.width);
      p.dv = at(dkv, first * (s.nope + s.v) + s.nope);
      library_.run(shape, p, workspace);
      split_mla_key_gradients(r_, dk, dkv, shared, first > 0, s, heads);
    }
    write_mla_shared_gradient(r_, shared, dkpe, s);
    return true;
  }

  bool forward(const AttentionPiece& p, HeadColumns o, View lse) override {
    SequenceRun run(p, o, false);
    if (!run.fits || !all_bf16(o.x)) return false;
    const std::int64_t bytes = library_.prepare(run.shape);
    if (bytes < 0) return false;
    const std::int64_t stats = run.shape.batch * run.shape.heads * run.shape.seq;
    Scratch scratch(r_,
                    Scratch::bytes<float>(stats) + run.bytes() + Scratch::bytes<std::byte>(bytes));
    SdpaPointers to = run.pointers(p);
    to.o = at(o.x, o.first);
    to.stats = scratch.take<float>(stats);
    const SequenceRun::OnDevice there = run.upload(r_, scratch, to);
    library_.run(run.shape, to, scratch.take<std::byte>(bytes));
    if (run.shape.ragged) {
      ragged_stats_to_lse(r_, to.stats, lse, run.shape.seq, there.sequence_of, there.first);
    } else {
      stats_to_lse(r_, to.stats, lse, run.shape.seq, {0, p.heads, p.heads});
    }
    return true;
  }

  bool backward(const AttentionPiece& p, HeadColumns d_o, HeadColumns o, View lse,
                const AttentionPieceGradient& g) override {
    SequenceRun run(p, o, true);
    if (!run.fits || !all_bf16(o.x, d_o.x, g.dq[0].x) || !same_columns(o, d_o)) return false;
    if (!same_columns(p.q[0], g.dq[0]) || !same_columns(p.k[0], g.dk[0]) ||
        !same_columns(p.v, g.dv))
      return false;
    if (g.dk[0].x.data != g.dq[0].x.data || g.dv.x.data != g.dq[0].x.data) return false;
    const std::int64_t bytes = library_.prepare(run.shape);
    if (bytes < 0) return false;
    const std::int64_t stats = run.shape.batch * run.shape.heads * run.shape.seq;
    const View sums = g.dq[0].x;
    Scratch scratch(r_, Scratch::bytes<float>(stats) +
                            Scratch::bytes<std::uint16_t>(sums.elements()) + run.bytes() +
                            Scratch::bytes<std::byte>(bytes));
    SdpaPointers to = run.pointers(p);
    const View gradient{scratch.take<std::uint16_t>(sums.elements()), DType::bf16, sums.rows,
                        sums.cols};
    to.o = at(o.x, o.first);
    to.d_o = at(d_o.x, d_o.first);
    to.dq = at(gradient, p.q[0].first);
    to.dk = at(gradient, p.k[0].first);
    to.dv = at(gradient, p.v.first);
    to.stats = scratch.take<float>(stats);
    const SequenceRun::OnDevice there = run.upload(r_, scratch, to);
    if (run.shape.ragged) {
      lse_to_ragged_stats(r_, lse, to.stats, run.shape.seq, there.sequence_of, there.first);
    } else {
      lse_to_stats(r_, lse, to.stats, run.shape.seq, {0, p.heads, p.heads});
    }
    library_.run(run.shape, to, scratch.take<std::byte>(bytes));
    add_bf16(r_, gradient, sums);
    return true;
  }

 private:
  static bool same_columns(const HeadColumns& a, const HeadColumns& b) {
    return a.x.cols == b.x.cols && a.first == b.first && a.stride == b.stride &&
           a.width == b.width && a.share == b.share;
  }

  // A piece as cuDNN takes it: one run a sequence, or sequences of their own lengths.
  struct SequenceRun {
    bool fits = false;
    SdpaShape shape;
    std::int64_t rows = 0;
    std::vector<std::int32_t>
        numbers;  // lengths, four lists of beginnings, sequence of every row, first rows

    SequenceRun(const AttentionPiece& p, const HeadColumns& o, bool backward) {
      const HeadColumns &q = p.q[0], &k = p.k[0], &v = p.v;
      if (p.q[1].width > 0 || p.k[1].width > 0 || !all_bf16(q.x)) return;
      if (q.x.data != k.x.data || q.x.data != v.x.data || q.share != 1 || k.share != v.share ||
          o.share != 1)
        return;
      const std::int64_t groups = p.heads / k.share, cols = q.x.cols;
      if (cols != p.heads * q.width + groups * (k.width + v.width) || q.width > 256)
        return;  // all are written
      for (const std::int64_t n : {q.width, v.width, q.first, k.first, v.first, o.first, q.stride,
                                   k.stride, v.stride, o.stride}) {
        if (n % 8 != 0) return;
      }
      rows = q.x.rows;
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
               .backward = backward,
               .window = seen->window};
      if (seen->count() != p.batch) list(*seen, cols, o.x.cols);
    }
    [[nodiscard]] SdpaPointers pointers(const AttentionPiece& p) const {
      SdpaPointers to;
      to.q = at(p.q[0].x, p.q[0].first);
      to.k = at(p.k[0].x, p.k[0].first);
      to.v = at(p.v.x, p.v.first);
      return to;
    }
    [[nodiscard]] std::size_t bytes() const {
      return Scratch::bytes<std::int32_t>(std::ssize(numbers));
    }

    struct OnDevice {
      const std::int32_t *sequence_of = nullptr, *first = nullptr;
    };
    OnDevice upload(const Resources& r, Scratch& scratch, SdpaPointers& to) const {
      if (!shape.ragged) return {};
      auto* const all = scratch.take<std::int32_t>(std::ssize(numbers));
      r.device().upload(all, numbers.data(), numbers.size() * sizeof numbers[0]);
      const std::int64_t n = shape.batch;
      to.lengths = all;
      to.q_first = to.k_first = to.v_first = all + n;
      to.o_first = all + 2 * n + 1;
      return {all + 3 * n + 2, all + 3 * n + 2 + rows};
    }

   private:
    // Graphs are kept by the number of sequences: a power of two, the last ones empty.
    void list(const VisibleSequences& seen, std::int64_t cols, std::int64_t o_cols) {
      std::int64_t n = 16;
      while (n < seen.count()) n *= 2;
      shape.ragged = true;
      shape.batch = n;
      const auto first = [&](std::int64_t s) {
        return s < seen.count() ? seen.first[static_cast<std::size_t>(s)]
                                : static_cast<std::int32_t>(rows);
      };
      for (std::int64_t s = 0; s < n; ++s) numbers.push_back(first(s + 1) - first(s));
      for (const std::int64_t ld : {cols, o_cols}) {
        for (std::int64_t s = 0; s <= n; ++s)
          numbers.push_back(static_cast<std::int32_t>(first(s) * ld));
      }
      for (std::int64_t s = 0; s < n; ++s) {
        numbers.insert(numbers.end(), static_cast<std::size_t>(first(s + 1) - first(s)),
                       static_cast<std::int32_t>(s));
      }
      for (std::int64_t s = 0; s <= n; ++s) numbers.push_back(first(s));
    }
  };

  static bool fits(const AttentionShape& s) {
    return s.head_dim % 8 == 0 && s.value_dim() % 8 == 0 && s.head_dim <= 256;
  }
  static bool fits(const MlaShape& s) {
    return s.nope % 8 == 0 && s.rope % 8 == 0 && s.rope > 0 && s.v % 8 == 0 && s.kv_lora % 8 == 0;
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
  static SdpaShape shape_of(const MlaShape& s, std::int64_t count, bool backward) {
    const std::int64_t width = s.nope + s.rope;
    return {.batch = s.batch,
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
  }
  static SdpaPointers pointers(View qkv, const AttentionShape& s) {
    SdpaPointers p;
    p.q = at(qkv, 0);
    p.k = at(qkv, s.heads * s.head_dim);
    p.v = at(qkv, (s.heads + s.kv_groups) * s.head_dim);
    return p;
  }

  Resources& r_;
  SdpaLibrary library_;
};

}  // namespace

std::unique_ptr<FusedAttention> fused_attention(Resources& r) {
  if (!SdpaLibrary::available()) return nullptr;
  return std::make_unique<CudnnAttention>(r);
}

}  // namespace pleat::cuda
