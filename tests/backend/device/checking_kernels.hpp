// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CPU's kernels as those of a device that works on its own: a call waits in a queue, and takes
// addresses that only the device can follow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"
#include "kernels/kernel_set.hpp"
#include "tests/backend/device/work_queue.hpp"

namespace pleat::test {

// A device's address: the host's with a bit that no address of x86-64 or AArch64 has.
inline constexpr std::uintptr_t kDeviceBit = std::uintptr_t{1} << 62U;

template <class T>
[[nodiscard]] T* seen_by_device(T* p) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) & ~kDeviceBit);
}
inline bool is_device_address(const void* p) {
  return (reinterpret_cast<std::uintptr_t>(p) & kDeviceBit) != 0;
}

class CheckingKernels final : public KernelSet {
 public:
  explicit CheckingKernels(WorkQueues& queues) : queues_(queues) {}

  // How often any of them made random numbers.
  [[nodiscard]] static int fills() { return fills_; }

  void embedding(View tokens, View w, std::int64_t first, View x) override {
    later(&KernelSet::embedding, tokens, w, first, x);
  }
  void embedding_bwd(View dx, View tokens, std::int64_t first, View dw) override {
    later(&KernelSet::embedding_bwd, dx, tokens, first, dw);
  }
  void rms_norm(View x, View w, View y, View rstd, double eps) override {
    later(&KernelSet::rms_norm, x, w, y, rstd, eps);
  }
  void rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw) override {
    later(&KernelSet::rms_norm_bwd, dy, x, w, rstd, dresidual, dx, dw);
  }
  void layer_norm(View x, View w, View y, View rstd, double eps) override {
    later(&KernelSet::layer_norm, x, w, y, rstd, eps);
  }
  void layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw)
                      override {
    later(&KernelSet::layer_norm_bwd, dy, x, w, rstd, dresidual, dx, dw);
  }
  void head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape& o5, double eps)
                 override {
    later(&KernelSet::head_norm, x, wq, wk, y, rstd, o5, eps);
  }
  void head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq, View dwk,
                     const AttentionShape& o8) override {
    later(&KernelSet::head_norm_bwd, dy, x, wq, wk, rstd, dx, dwq, dwk, o8);
  }
  void slice_norm(View x, View w, View y, View rstd, double eps) override {
    later(&KernelSet::slice_norm, x, w, y, rstd, eps);
  }
  void slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) override {
    later(&KernelSet::slice_norm_bwd, dy, x, w, rstd, dx, dw);
  }
  void gemm(View a, bool transpose_a, View b, bool transpose_b, View c, bool accumulate) override {
    later(&KernelSet::gemm, a, transpose_a, b, transpose_b, c, accumulate);
  }
  void add_bias(View b, double scale, View y) override { later(&KernelSet::add_bias, b, scale, y); }
  void add_bias_bwd(View dy, double scale, View db) override {
    later(&KernelSet::add_bias_bwd, dy, scale, db);
  }
  void add_positions(View w, std::int64_t seq, double scale, View x) override {
    later(&KernelSet::add_positions, w, seq, scale, x);
  }
  void add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) override {
    later(&KernelSet::add_positions_bwd, dx, seq, scale, dw);
  }
  void grouped_gemm(View a, View b, bool transpose_b, View counts, View c) override {
    later(&KernelSet::grouped_gemm, a, b, transpose_b, counts, c);
  }
  void grouped_wgrad(View a, View b, View counts, View c, bool accumulate) override {
    later(&KernelSet::grouped_wgrad, a, b, counts, c, accumulate);
  }
  void grouped_bias(View b, View counts, View p, double scale, View y) override {
    later(&KernelSet::grouped_bias, b, counts, p, scale, y);
  }
  void grouped_bias_bwd(View dy, View counts, View p, View db) override {
    later(&KernelSet::grouped_bias_bwd, dy, counts, p, db);
  }
  void grouped_bias_probs(View dy, View b, View counts, double scale, View dp) override {
    later(&KernelSet::grouped_bias_probs, dy, b, counts, scale, dp);
  }
  void start_at_sinks(View sinks, View o, View lse) override {
    later(&KernelSet::start_at_sinks, sinks, o, lse);
  }
  void sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) override {
    later(&KernelSet::sinks_bwd, d_o, o, lse, sinks, dsinks);
  }
  void attention(View qkv, View o, View lse, const AttentionShape& o3) override {
    later(&KernelSet::attention, qkv, o, lse, o3);
  }
  void attention_bwd(View d_o, View qkv, View o, View lse, View dqkv, const AttentionShape& o5)
                     override {
    later(&KernelSet::attention_bwd, d_o, qkv, o, lse, dqkv, o5);
  }
  void mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape& o5) override {
    later(&KernelSet::mla_attention, q, kv, kpe, o, lse, o5);
  }
  void mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv,
                         View dkpe, const MlaShape& o9) override {
    later(&KernelSet::mla_attention_bwd, d_o, q, kv, kpe, o, lse, dq, dkv, dkpe, o9);
  }
  void concat_columns(View a, View b, View y) override {
    later(&KernelSet::concat_columns, a, b, y);
  }
  void concat_columns_bwd(View dy, View da, View db) override {
    later(&KernelSet::concat_columns_bwd, dy, da, db);
  }
  void copy_columns(View from, View to, const ColumnBlocks& o2) override {
    later(&KernelSet::copy_columns, from, to, o2);
  }
  void add(View a, View b, View c, View y) override { later(&KernelSet::add, a, b, c, y); }
  void swiglu(View u, View p, View y) override { later(&KernelSet::swiglu, u, p, y); }
  void swiglu_bwd(View dy, View u, View p, View du, View dp) override {
    later(&KernelSet::swiglu_bwd, dy, u, p, du, dp);
  }
  void gelu(View u, View y) override { later(&KernelSet::gelu, u, y); }
  void gelu_bwd(View dy, View u, View du) override { later(&KernelSet::gelu_bwd, dy, u, du); }
  void pointwise(Elementwise f, View a, View b, View y) override {
    later(&KernelSet::pointwise, f, a, b, y);
  }
  void pointwise_bwd(Elementwise f, View dy, View a, View b, View da, View db) override {
    later(&KernelSet::pointwise_bwd, f, dy, a, b, da, db);
  }
  void sigmoid_gate(View y, View gate, View z) override {
    later(&KernelSet::sigmoid_gate, y, gate, z);
  }
  void sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) override {
    later(&KernelSet::sigmoid_gate_bwd, dz, y, gate, dy, dgate);
  }
  void router_topk(View logits, View bias, View probs, View experts, const RouterShape& o4)
                   override {
    later(&KernelSet::router_topk, logits, bias, probs, experts, o4);
  }
  void router_topk_bwd(View dprobs, View logits, View probs, View experts, View dlogits, const
                       RouterShape& o5) override {
    later(&KernelSet::router_topk_bwd, dprobs, logits, probs, experts, dlogits, o5);
  }
  void router_stats(View logits, View experts, View stats, const RouterShape& o3, const RouterRows&
                    o4) override {
    later(&KernelSet::router_stats, logits, experts, stats, o3, o4);
  }
  void router_losses(View stats, const RouterLossFactors& o1, double scale, View values) override {
    later(&KernelSet::router_losses, stats, o1, scale, values);
  }
  void router_losses_bwd(View logits, View stats, View dlogits, const RouterShape& o3, const
                         RouterRows& o4, const RouterLossFactors& o5) override {
    later(&KernelSet::router_losses_bwd, logits, stats, dlogits, o3, o4, o5);
  }
  void place_experts(View experts, View table, std::int64_t first, View slots) override {
    later(&KernelSet::place_experts, experts, table, first, slots);
  }
  void expert_counts(View experts, View counts) override {
    later(&KernelSet::expert_counts, experts, counts);
  }
  void count_load(View experts, View load) override {
    later(&KernelSet::count_load, experts, load);
  }
  void update_bias(View load, View bias, std::int64_t experts, double step) override {
    later(&KernelSet::update_bias, load, bias, experts, step);
  }
  void drop_tokens(View probs, View experts, std::int64_t capacity, View kept, View counts)
                   override {
    later(&KernelSet::drop_tokens, probs, experts, capacity, kept, counts);
  }
  void permute(View x, View probs, View experts, View counts, std::int64_t first, View px, View pp,
               View row_map) override {
    later(&KernelSet::permute, x, probs, experts, counts, first, px, pp, row_map);
  }
  void permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs, bool accumulate)
                   override {
    later(&KernelSet::permute_bwd, dpx, dpp, row_map, dx, dprobs, accumulate);
  }
  void sort_chunks(View x, View all_counts, const ChunkShape& o2, View y) override {
    later(&KernelSet::sort_chunks, x, all_counts, o2, y);
  }
  void unsort_chunks(View y, View all_counts, const ChunkShape& o2, View x) override {
    later(&KernelSet::unsort_chunks, y, all_counts, o2, x);
  }
  void pack_rows(View x, std::byte* packed) override { later(&KernelSet::pack_rows, x, packed); }
  void unpack_rows(const std::byte* packed, std::int64_t parts, bool accumulate, View x) override {
    later(&KernelSet::unpack_rows, packed, parts, accumulate, x);
  }
  void local_counts(View all_counts, std::int64_t first_expert, std::int64_t local, View counts)
                    override {
    later(&KernelSet::local_counts, all_counts, first_expert, local, counts);
  }
  void unpermute(View px, View row_map, View y) override {
    later(&KernelSet::unpermute, px, row_map, y);
  }
  void unpermute_bwd(View dy, View row_map, View dpx) override {
    later(&KernelSet::unpermute_bwd, dy, row_map, dpx);
  }
  void ce_stats(View logits, View labels, VocabShard o2, View stats) override {
    later(&KernelSet::ce_stats, logits, labels, o2, stats);
  }
  void ce_loss(View logits, View labels, VocabShard o2, View gathered, double scale, const
               DepthRows& o5, View loss) override {
    later(&KernelSet::ce_loss, logits, labels, o2, gathered, scale, o5, loss);
  }
  void zero(View x) override { later(&KernelSet::zero, x); }
  void fill_normal(std::uint64_t key, std::int64_t first, double deviation, View out) override {
    ++fills_;
    later(&KernelSet::fill_normal, key, first, deviation, out);
  }
  void copy(View x, View y) override { later(&KernelSet::copy, x, y); }
  void adamw(View g, View m, View v, View w, double grad_scale, const AdamW& o5,
             View weights) override {
    later(&KernelSet::adamw, g, m, v, w, grad_scale, o5, weights);
  }
  void lamb(View g, View m, View v, View w, double grad_scale, const AdamW& o5) override {
    later(&KernelSet::lamb, g, m, v, w, grad_scale, o5);
  }
  void read_moment(Moment from, View to) override { later(&KernelSet::read_moment, from, to); }
  void write_moment(View from, Moment to) override { later(&KernelSet::write_moment, from, to); }
  void join_halves(View w, View r, View to) override { later(&KernelSet::join_halves, w, r, to); }
  void split_halves(View x, View w, View r) override { later(&KernelSet::split_halves, x, w, r); }
  void sgd(View g, View m, View w, double grad_scale, const Sgd& o4) override {
    later(&KernelSet::sgd, g, m, w, grad_scale, o4);
  }
  void muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) override {
    later(&KernelSet::muon_momentum, g, m, grad_scale, beta, nesterov);
  }
  void newton_schulz(View x, View work) override { later(&KernelSet::newton_schulz, x, work); }
  void scaled_step(View u, View w, double keep, double rate) override {
    later(&KernelSet::scaled_step, u, w, keep, rate);
  }
  void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep, View rstd,
                         double eps, std::span<const QuantizedCopy> copies) override {
    KernelSet::rms_norm_quantize(x, residual, sum, w, keep ? y : aside(y), true, rstd, eps, copies);
  }
  void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                       std::span<const QuantizedCopy> copies) override {
    KernelSet::swiglu_quantize(u, p, counts, keep ? y : aside(y), true, copies);
  }
  void quantize(View x, View counts, View y, const Quantization& q) override {
    BlockScales s;
    s.format = q.format;
    s.rule = q.rule;
    s.block_cols = q.block_cols > 0 ? q.block_cols : std::max<std::int64_t>(1, y.cols);
    s.blocks_in_row = (y.cols + s.block_cols - 1) / s.block_cols;
    s.on_device = std::make_shared<BlockScales>();
    *y.scales = std::move(s);
    later(&KernelSet::quantize, x, counts, y, q);
  }
  void largest_of_history(View history, View amax) override {
    later(&KernelSet::largest_of_history, history, amax);
  }
  void read_scales(View y) override {
    queues_.now().finish();
    const auto& there = *static_cast<const BlockScales*>(y.scales->on_device.get());
    y.scales->block_of_row = there.block_of_row;
    y.scales->scales = there.scales;
    y.scales->group_scales = there.group_scales;
  }
  void write_scales(View y) override {
    y.scales->on_device.reset();
    y.scales->on_device = std::make_shared<BlockScales>(*y.scales);
  }
  double sum_of_squares(View x) override {
    queues_.now().finish();
    return below_->sum_of_squares(seen(x));
  }
  // What these read of the host's they have read when they return.
  void adamw_narrow(View g, Moment m, Moment v, View w, double grad_scale, const AdamW& a,
                    std::span<const ElementSpan> undecayed, View weights) override {
    queues_.now().add([=, this, kept = std::vector(undecayed.begin(), undecayed.end())] {
      below_->adamw_narrow(seen(g), seen(m), seen(v), seen(w), grad_scale, a, kept, seen(weights));
    });
  }
  void rope(View x, const RopeShape& s, bool inverse) override {
    std::vector<std::int32_t> places;
    if (s.positions != nullptr) places.assign(s.positions, s.positions + x.rows);
    queues_.now().add([=, this, places = std::move(places)] {
      RopeShape shape = s;
      if (shape.positions != nullptr) shape.positions = places.data();
      below_->rope(seen(x), shape, inverse);
    });
  }
  void attention_piece(const AttentionPiece& p, HeadColumns o, View lse, bool resume) override {
    queues_.now().add([=, this, ranges = ranges_of(p)] {
      below_->attention_piece(seen(p, ranges), seen(o), seen(lse), resume);
    });
  }
  void attention_piece_bwd(const AttentionPiece& p, HeadColumns d_o, HeadColumns o, View lse,
                           const AttentionPieceGradient& g) override {
    queues_.now().add([=, this, ranges = ranges_of(p)] {
      below_->attention_piece_bwd(seen(p, ranges), seen(d_o), seen(o), seen(lse), seen(g));
    });
  }

 private:
  using Ranges = std::vector<std::int32_t>;
  static Ranges ranges_of(const AttentionPiece& p) {
    if (p.visible == nullptr) return {};
    return {&p.visible[0][0], &p.visible[0][0] + 2 * p.q[0].x.rows};
  }
  static View seen(View v) {
    v.data = seen_by_device(v.data);
    return v;
  }
  static HeadColumns seen(HeadColumns c) {
    c.x = seen(c.x);
    return c;
  }
  static Moment seen(Moment m) {
    return {seen(m.values), seen_by_device(m.scales)};
  }
  static Quantization seen(Quantization q) {
    q.past_amax = seen_by_device(q.past_amax);
    q.seen_amax = seen_by_device(q.seen_amax);
    return q;
  }
  static AttentionPiece seen(AttentionPiece p, const Ranges& ranges) {
    for (auto* part : {&p.q[0], &p.q[1], &p.k[0], &p.k[1], &p.v}) *part = seen(*part);
    if (p.visible != nullptr) {
      p.visible = reinterpret_cast<const std::int32_t(*)[2]>(ranges.data());
    }
    return p;
  }
  static AttentionPieceGradient seen(AttentionPieceGradient g) {
    for (auto* part : {&g.dq[0], &g.dq[1], &g.dk[0], &g.dk[1], &g.dv}) *part = seen(*part);
    return g;
  }
  static std::byte* seen(std::byte* p) { return seen_by_device(p); }
  static const std::byte* seen(const std::byte* p) { return seen_by_device(p); }
  template <class T>
  static const T& seen(const T& setting) {
    return setting;
  }
  // A call's operand until its turn comes. Scales lie on the device, whatever happens to those of
  // the caller.
  struct Held {
    View view;
    std::shared_ptr<void> scales;
  };
  static Held held(View v) {
    return {seen(v), v.scales == nullptr ? nullptr : v.scales->on_device};
  }
  static View given(const Held& h) {
    View v = h.view;
    v.scales = static_cast<BlockScales*>(h.scales.get());
    return v;
  }
  template <class T>
  static T held(const T& setting) {
    return seen(setting);
  }
  template <class T>
  static const T& given(const T& setting) {
    return setting;
  }
  // Device memory for what a kernel makes and does not keep: of its own, as late work may overlap.
  View aside(View like) {
    const auto bytes = static_cast<std::size_t>(bytes_of(like.dtype, like.elements()));
    std::vector<std::byte>& memory = unstored_.emplace_back(bytes);
    like.data = reinterpret_cast<std::byte*>(
        reinterpret_cast<std::uintptr_t>(memory.data()) | kDeviceBit);
    return like;
  }
  template <class... P, class... A>
  void later(void (KernelSet::*f)(P...), A... arguments) {
    queues_.now().add([this, f, all = std::make_tuple(held(arguments)...)] {
      std::apply([&](const auto&... each) { (below_.get()->*f)(given(each)...); }, all);
    });
  }

  static inline std::atomic<int> fills_ = 0;
  WorkQueues& queues_;
  std::unique_ptr<KernelSet> below_ = cpu_kernels();
  std::deque<std::vector<std::byte>> unstored_;
};

}  // namespace pleat::test
