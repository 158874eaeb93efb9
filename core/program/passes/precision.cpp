// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Inserts a quantize before the first narrow GEMM that reads a tensor and rewires the GEMMs to it.
// What tensor parallelism gathers only for narrow GEMMs is quantized before the gather, which then
// moves narrow bytes: both layouts of MXFP8 and of blocks where both are read, one layout of
// tensor-scaled FP8, transposed after it (docs/MODEL.md section 5).
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/plan/numerics.hpp"
#include "core/program/amax_buffers.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

struct QuantizedCopies {
  TensorId row, column;
};

// Linear layers run narrow; the router and, unless asked for, the loss head stay in bf16
// (Megatron's default).
bool is_narrow(const Op& op, bool head) {
  return (op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm) &&
         op.module != Module::router && (head || op.module != Module::head) &&
         op.module != Module::embedding;
}

// Scores and values in fp8 (mxfp8 under mxfp8). Its operands are converted inside the kernel.
void narrow_attention(std::vector<Op>& ops, DType type) {
  for (Op& op : ops) {
    if (op.kind == OpKind::attention || op.kind == OpKind::attention_bwd ||
        op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd) {
      op.attr.math = type == DType::mxfp8 ? DType::mxfp8 : DType::fp8;
    }
  }
}

// Tensors of a layer, those it has at first.
class Marks {
 public:
  explicit Marks(std::size_t tensors) : marked_(tensors) {}
  void set(TensorId t, bool on = true) { marked_[t.index()] = on; }
  [[nodiscard]] bool contains(TensorId t) const {
    return t.index() < marked_.size() && marked_[t.index()];
  }

 private:
  std::vector<char> marked_;
};

class Quantizer {
 public:
  Quantizer(LayerProgram& layer, DType type, const Plan& plan, Runtime runtime)
      : layer_(layer), type_(type), blocks_(plan.precision == Precision::fp8_block),
        turned_(type == DType::nvfp4 && runtime == Runtime::pleat), head_(plan.fp8_head),
        delayed_(plan.precision == Precision::fp8_delayed),
        keeps_amax_(delayed_ && runtime == Runtime::pleat), expert_ranks_(plan.expert.ep),
        fused_(layer.tensors.size()), read_wide_(layer.tensors.size()),
        gradients_(layer.tensors.size()) {
    layer_.tensors.reserve(2 * layer_.tensors.size());
  }

  void run() {
    for (const std::vector<Op>* ops : {&layer_.forward, &layer_.backward}) {
      for (const Op& op : *ops) {
        if (op.attr.passes != 0) continue;
        for (TensorId x : op.out) fused_.set(x);
      }
    }
    for (const Op& op : layer_.backward) {
      if (is_narrow(op, head_)) continue;
      for (TensorId x : op.in) {
        if (layer_.tensor(x).dtype == DType::bf16) read_wide_.set(x);
      }
    }
    if (layer_.grad_output) {  // gradients are not saved
      read_wide_.set(*layer_.grad_output, false);
      gradients_.set(*layer_.grad_output);
    }
    for (const Op& op : layer_.backward) {
      for (TensorId x : op.out) {
        read_wide_.set(x, false);
        gradients_.set(x);
      }
    }
    for (const Op& op : layer_.backward) {  // that of logits is made in their place, forward
      const bool of_gradient = op.phase == Phase::backward || op.phase == Phase::wgrad;
      if (is_narrow(op, head_) && of_gradient) gradients_.set(op.in.front());
    }
    rewrite(layer_.forward, Phase::forward);
    rewrite(layer_.backward, Phase::backward);
  }

 private:
  TensorId add(TensorId of, const char* suffix) {
    Tensor t = layer_.tensor(of);
    t.name += suffix;
    t.dtype = type_;
    layer_.tensors.push_back(std::move(t));
    return TensorId{static_cast<int>(layer_.tensors.size()) - 1};
  }

  // What a shared expert and the attention's projection read is saved in bf16 anyway, for others.
  // They take that and convert it once more backward (mcore's set_save_original_input; not with
  // delayed scaling, whose scales have moved on by then).
  [[nodiscard]] bool saves_original(const Op& user, TensorId x) const {
    return !delayed_ && user.kind == OpKind::gemm && read_wide_.contains(x) &&
           (user.module == Module::attn_proj || user.module == Module::shared_experts);
  }

  // One layout, for the product that reads it.
  TensorId quantized_once(TensorId x, std::vector<Op>& out, const Op& user, Phase phase, bool row) {
    std::map<TensorId, TensorId>& known = row ? rows_ : columns_;
    if (const auto done = known.find(x); done != known.end()) return done->second;
    Op op;
    op.kind = OpKind::quantize;
    op.name = layer_.tensor(x).name + (row ? ".quantize.row" : ".quantize.col");
    op.phase = phase;
    op.belongs_with(user);
    op.in = {x};
    op.out = {add(x, row ? ".row" : ".col")};
    op.attr.by_rows = !row;
    op.attr.gradient = gradients_.contains(x);
    if (row && fused_.contains(x)) op.attr.passes = 0;
    const TensorId made = op.out.front();
    out.push_back(std::move(op));
    known[x] = made;
    return made;
  }

  // `product`: the first that reads it, `user` that or what gathers it for that.
  QuantizedCopies quantized(TensorId x, std::vector<Op>& out, const Op& user, const Op& product,
                            Phase phase) {
    if (const auto done = copies_.find(x); done != copies_.end()) return done->second;
    const QuantizedCopies c{add(x, ".row"), add(x, ".col")};
    Op op;
    op.kind = OpKind::quantize;
    op.name = layer_.tensor(x).name + ".quantize";
    op.phase = phase;
    op.belongs_with(user);
    op.in = {x};
    if (user.kind == OpKind::grouped_gemm) {
      op.in.push_back(user.in[2]);
      op.attr.local_experts = user.attr.local_experts;
    }
    op.attr.gradient = gradients_.contains(x);
    if (keeps_amax_) {
      const std::int64_t experts = op.attr.local_experts * expert_ranks_;
      op.in.push_back(add_amax(layer_, product, op.attr.gradient,
                               std::max<std::int64_t>(1, experts)));
    }
    op.out = {c.row, c.column};
    if (fused_.contains(x)) op.attr.passes = 0;
    out.push_back(std::move(op));
    copies_[x] = c;
    return c;
  }

  // Which layouts the narrow GEMMs of `ops` read of x; nothing if anyone else reads it.
  struct Wanted {
    bool row = false, column = false;
    const Op* product = nullptr;  // the first
  };
  Wanted wanted(const std::vector<Op>& ops, TensorId x) const {
    Wanted result;
    for (const Op& op : ops) {
      for (std::size_t i = 0; i < op.in.size(); ++i) {
        if (op.in[i] != x) continue;
        const bool wgrad = op.attr.transpose_a;
        if (!is_narrow(op, head_) || (i > 0 && !wgrad)) return {};
        (wgrad ? result.column : result.row) = true;
        if (result.product == nullptr) result.product = &op;
      }
    }
    return result;
  }

  // NVFP4's blocks are of 16 tokens, all of one rank. Where a rank has others the wide tensor is
  // gathered and quantised then (TransformerEngine: NVFP4Quantizer.is_quantizable, distributed.py).
  [[nodiscard]] bool in_whole_blocks(TensorId x) const {
    return type_ != DType::nvfp4 || layer_.tensor(x).rows({}) % 16 == 0;
  }

  // Gathers narrow copies instead of op.in[0]. False: the gathered tensor itself is read.
  bool gather_narrow(const std::vector<Op>& ops, const Op& gather, std::vector<Op>& out,
                     Phase phase) {
    const TensorId all = gather.out.front();
    const Wanted want = wanted(ops, all);
    if (!want.row && !want.column) return false;
    if (!in_whole_blocks(gather.in.front())) return false;
    const QuantizedCopies shard =
        quantized(gather.in.front(), out, gather, *want.product, phase);
    QuantizedCopies copies;
    auto move = [&](TensorId from, const char* suffix) {
      Op op = gather;
      op.in = {from};
      op.out = {add(all, suffix)};
      if (op.in.front() == shard.column && want.row) op.name += suffix;
      out.push_back(op);
      return op.out.front();
    };
    if (want.row) copies.row = move(shard.row, ".row");
    if (want.column && want.row && type_ == DType::fp8 && !blocks_) {
      Op transpose;
      transpose.kind = OpKind::transpose_codes;
      transpose.name = layer_.tensor(all).name + ".transpose";
      transpose.phase = phase;
      transpose.belongs_with(gather);
      transpose.in = {copies.row};
      copies.column = add(all, ".col");
      transpose.out = {copies.column};
      out.push_back(transpose);
    } else if (want.column) {
      copies.column = move(shard.column, ".col");
    }
    copies_[all] = copies;
    return true;
  }

  void rewrite(std::vector<Op>& ops, Phase phase) {
    std::vector<Op> result;
    result.reserve(ops.size() + ops.size() / 2);
    for (Op& op : ops) {
      if (op.kind == OpKind::all_gather && op.group == Group::tp &&
          gather_narrow(ops, op, result, phase)) {
        continue;
      }
      if (is_narrow(op, head_)) {
        const bool wgrad = op.attr.transpose_a;
        const std::size_t operands = wgrad ? 2 : 1;  // in[1] of the others is the weight
        std::optional<TensorId> of_bias;
        for (std::size_t i = 0; i < operands; ++i) {
          if (layer_.tensor(op.in[i]).cls != TensorClass::activation) continue;
          if (saves_original(op, op.in[i])) {
            op.in[i] = quantized_once(op.in[i], result, op, phase, !wgrad);
            continue;
          }
          const QuantizedCopies c = quantized(op.in[i], result, op, op, phase);
          op.in[i] = wgrad ? c.column : c.row;
          if (wgrad && i == 0 && turned_ && op.out.size() > 1) of_bias = c.row;
        }
        if (of_bias) op.in.push_back(*of_bias);
        op.attr.math = type_;
      }
      result.push_back(std::move(op));
    }
    ops = std::move(result);
  }

  LayerProgram& layer_;
  DType type_;
  bool blocks_;  // fp8 with a scale per block
  bool turned_;  // a gradient's column-wise copy is of mixed rows: biases read the other one
  bool head_;    // the output projection is narrow too
  bool delayed_;  // fp8 with scales from past maxima
  bool keeps_amax_;  // and the program has them (Megatron's are TransformerEngine's)
  std::int64_t expert_ranks_;
  std::map<TensorId, QuantizedCopies> copies_;
  std::map<TensorId, TensorId> rows_, columns_;  // made apart
  Marks fused_;      // made, and converted, inside another kernel
  Marks read_wide_;  // saved, and read in bf16 backward
  Marks gradients_;  // made backward
};

}  // namespace

void apply_precision(LayerProgram& layer, const Plan& plan, Runtime runtime) {
  const DType type = product_type(plan.precision);
  if (type == DType::fp32 || type == DType::bf16) return;
  Quantizer(layer, type, plan, runtime).run();
  if (plan.fp8_attention) {
    narrow_attention(layer.forward, type);
    narrow_attention(layer.backward, type);
  }
}

}  // namespace pleat
