// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Final norm, output projection (vocabulary split over tp) and cross entropy. The loss kernel turns
// the logits into their gradient in place, so nothing of the size of the vocabulary is saved twice.
#include <algorithm>
#include <string>
#include <vector>

#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

// What the loss is computed of: `rows` rows of the normed states, all that the microbatch has.
struct LossShape {
  const LocalShape& s;
  bool mtp;
  TensorId weight;
  std::int64_t rows;
};

// Labels and loss of the rows from `first` on.
void describe_labels(Op& load, const LossShape& l, std::int64_t first) {
  load.attr.batch = l.s.batch;
  load.attr.seq = l.s.seq;
  load.attr.depth_rows = l.mtp ? (1 + l.s.model.mtp_layers) * l.s.T : 0;
  load.attr.depths = l.mtp ? l.s.model.mtp_layers : 0;
  load.attr.first = first;
}

void describe_loss(Op& ce, const LossShape& l, std::int64_t first) {
  ce.attr.scale = l.s.loss_scale;
  if (!l.mtp) return;  // a sequence's last position predicts nothing
  const std::int64_t depths = l.s.model.mtp_layers;
  ce.attr.depth_rows = (1 + depths) * l.s.T;
  ce.attr.depths = depths;
  ce.attr.seq = l.s.seq;
  ce.attr.first = first;
  ce.attr.mtp_scale = l.s.model.mtp_loss / static_cast<double>(depths) * l.s.loss_scale *
                      static_cast<double>(l.s.seq) /
                      static_cast<double>(std::max<std::int64_t>(1, l.s.seq - 1));
}

// Statistics of the logits and the loss, which leaves the logits' gradient in their place.
// push(kind, name, operands, results) adds an operation.
template <class Push>
void record_loss(LayerBuilder& b, const LossShape& l, TensorId logits, TensorId loss,
                 std::int64_t first, std::int64_t rows, const std::string& part, const Push& push) {
  const TensorId labels = b.activation("labels" + part, {{rows}}, DType::i32);
  describe_labels(push(OpKind::load_labels, "labels" + part, {}, {labels}), l, first);
  TensorId stats = b.activation("ce.stats" + part, {{rows}, {3}}, DType::fp32);
  push(OpKind::ce_stats, "ce.stats" + part, {logits, labels}, {stats});
  if (l.s.tp > 1) {
    const TensorId all = b.activation("ce.stats.ag" + part, {{l.s.tp * rows}, {3}}, DType::fp32);
    push(OpKind::all_gather, "ce.stats.ag" + part, {stats}, {all}).group = Group::tp;
    stats = all;
  }
  describe_loss(push(OpKind::ce_loss, "ce.loss" + part, {logits, labels, stats}, {logits, loss}), l,
                first);
}

void loss_of_all(LayerBuilder& b, const LossShape& l, TensorId normed) {
  const TensorId all = b.gather_tokens("final_norm.ag", Module::head, normed);
  const TensorId logits = b.gemm("head", Module::head, all, l.weight, l.s.act);
  record_loss(b, l, logits, b.loss_accumulator(), 0, l.rows, "",
              [&b](OpKind kind, const std::string& name, std::vector<TensorId> in,
                   std::vector<TensorId> out) -> Op& {
                return b.push(kind, name, Module::head, std::move(in), std::move(out));
              });
  b.on_backward([=, &b] { b.set_gradient(logits, logits); });
}

// One part after the other in the backward pass: its logits, their loss and gradient, and what that
// gives of the gradients of states and weight. So the logits of one part are there at a time. The
// weight's gradient is no work to put off (Phase::wgrad): the logits would wait for it.
class LossInParts {
 public:
  LossInParts(LayerBuilder& b, const LossShape& l, TensorId normed)
      : b_(b), l_(l), normed_(normed), loss_(b.loss_accumulator()) {}

  void emit() {
    const int count = l_.s.plan.loss_chunks;
    const std::int64_t rows = l_.rows / count;
    const TensorId all = gathered();
    const std::vector<Dim> dims{{rows}, b_.dims(all).back()};
    std::vector<TensorId> parts, gradients;
    for (int i = 0; i < count; ++i) {
      parts.push_back(b_.activation("head.in" + part(i), dims, l_.s.act));
    }
    push(OpKind::concat_rows_bwd, "head.in", {all}, parts);
    for (int i = 0; i < count; ++i) {
      gradients.push_back(b_.activation("d.head.in" + part(i), dims, l_.s.act));
      emit_part(parts[static_cast<std::size_t>(i)], gradients.back(), rows, i);
    }
    return_gradient(gradients);
  }

 private:
  static std::string part(int i) { return "." + std::to_string(i + 1); }

  Op& push(OpKind kind, const std::string& name, std::vector<TensorId> in,
           std::vector<TensorId> out, Phase phase = Phase::forward) {
    return b_.push_backward(kind, name, Module::head, phase, std::move(in), std::move(out));
  }

  TensorId gathered() {
    if (!l_.s.sp) return normed_;
    std::vector<Dim> dims = b_.dims(normed_);
    dims.front().n *= l_.s.tp;
    const TensorId all = b_.activation("final_norm.ag", dims, l_.s.act);
    push(OpKind::all_gather, "final_norm.ag", {normed_}, {all}).group = Group::tp;
    return all;
  }

  void emit_part(TensorId x, TensorId dx, std::int64_t rows, int i) {
    const Dim vocab = b_.dims(l_.weight).front(), hidden = b_.dims(l_.weight).back();
    const TensorId logits = b_.activation("head" + part(i), {{rows}, vocab}, l_.s.act);
    Op& product = push(OpKind::gemm, "head" + part(i), {x, l_.weight}, {logits});
    product.attr.m = {rows}, product.attr.n = vocab, product.attr.k = hidden;
    product.attr.transpose_b = true;
    product.attr.math = l_.s.act;
    record_loss(b_, l_, logits, loss_, i * rows, rows, part(i),
                [this](OpKind kind, const std::string& name, std::vector<TensorId> in,
                       std::vector<TensorId> out) -> Op& {
                  return push(kind, name, std::move(in), std::move(out));
                });
    Op& dgrad = push(OpKind::gemm, "head.dgrad" + part(i), {logits, l_.weight}, {dx},
                     Phase::backward);
    dgrad.attr.m = {rows}, dgrad.attr.n = hidden, dgrad.attr.k = vocab;
    dgrad.attr.math = l_.s.act;
    Op& wgrad = push(OpKind::gemm, "head.wgrad" + part(i), {logits, x},
                     {b_.weight_gradient(l_.weight)}, Phase::backward);
    wgrad.attr.m = vocab, wgrad.attr.n = hidden, wgrad.attr.k = {rows};
    wgrad.attr.transpose_a = wgrad.attr.accumulate = true;
    wgrad.attr.math = l_.s.act;
  }

  // What gather_tokens makes of it.
  void return_gradient(const std::vector<TensorId>& parts) {
    if (!l_.s.sp) {
      const TensorId d = b_.new_gradient(normed_);
      push(OpKind::concat_rows, "d.head.in", parts, {d}, Phase::backward);
      if (l_.s.tp == 1) return;
      push(OpKind::all_reduce, "final_norm.ag.ar", {d}, {d}, Phase::backward).group = Group::tp;
      return;
    }
    std::vector<Dim> dims = b_.dims(normed_);
    dims.front().n *= l_.s.tp;
    const TensorId all = b_.activation("d.final_norm.ag", dims, l_.s.act);
    push(OpKind::concat_rows, "d.head.in", parts, {all}, Phase::backward);
    const TensorId d = b_.new_gradient(normed_);
    push(OpKind::reduce_scatter, "final_norm.ag.rs", {all}, {d}, Phase::backward).group = Group::tp;
  }

  LayerBuilder& b_;
  LossShape l_;
  TensorId normed_, loss_;
};

}  // namespace

LayerProgram build_head_layer(const LocalShape& s, bool mtp) {
  LayerBuilder b(LayerKind::head, s);
  const std::int64_t heads = 1 + (mtp ? s.model.mtp_layers : 0);
  const Dim h{s.model.hidden};
  const TensorId x = b.set_input({{heads * s.T}, {s.residual}});
  const TensorId joined = join_streams(b, "head_hc", x, heads * s.T, true);
  const TensorId normed = mtp && norm_before_depth(s.model)
                              ? joined
                              : b.rms_norm("final_norm", joined, h.n);
  const std::int64_t rows = (s.model.vocab + s.tp - 1) / s.tp;
  // A tied head is the embedding's table under its name.
  const TensorId w =
      b.weight(s.model.tied_embeddings ? "embedding" : "head", {{rows}, h}, Bucket::dense);
  b.cut_rows(w, {{s.model.vocab}});
  const LossShape loss{s, mtp, w, heads * s.S};
  if (s.plan.loss_chunks > 1) {
    b.on_backward([parts = LossInParts(b, loss, normed)]() mutable { parts.emit(); });
  } else {
    loss_of_all(b, loss, normed);
  }
  return b.finish(std::nullopt);
}

}  // namespace pleat
