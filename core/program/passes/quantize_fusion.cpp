// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/passes/quantize_fusion.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pleat {
namespace {

// The length of blocks, within rows and within columns, of which kernels make both copies in one
// pass. Other recipes read what they quantise several times (one scale a tensor) or turn it first
// (NVFP4): to compute it anew each time moves as much as to store it, and of SwiGLU more.
std::optional<std::int64_t> block_length(Precision precision) {
  switch (precision) {
    case Precision::fp8_block:
      return 128;
    case Precision::mxfp8:
      return 32;
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::nvfp4:
      break;
  }
  return std::nullopt;
}

class Fuser {
 public:
  Fuser(LayerProgram& layer, std::int64_t block)
      : layer_(layer), block_(block), uses_(layer.tensors.size()) {
    for (const auto* ops : {&layer_.forward, &layer_.backward}) {
      for (const Op& op : *ops) {
        for (const auto* ids : {&op.in, &op.out}) {
          for (TensorId t : *ids) ++uses_[t.index()];
        }
      }
    }
  }

  void run(std::vector<Op>& ops) {
    std::vector<Op> result;
    result.reserve(ops.size());
    for (Op& op : ops) {
      if (!result.empty() && fits(result.back(), op)) {
        join(result.back(), op);
        if (result.size() > 1) take_sum(result[result.size() - 2], result);
      } else {
        result.push_back(std::move(op));
      }
    }
    ops = std::move(result);
  }

 private:
  // Does `quantize` make both copies of what `maker` makes, and nothing else touch that?
  [[nodiscard]] bool fits(const Op& maker, const Op& quantize) const {
    if (quantize.kind != OpKind::quantize || quantize.out.size() != 2) return false;
    if (maker.out.empty() || maker.out.front() != quantize.in.front()) return false;
    const TensorId made = maker.out.front();
    const Tensor& t = layer_.tensor(made);
    if (uses_[made.index()] != 2 || made == layer_.output || made == layer_.grad_input)
      return false;
    if (t.cls != TensorClass::activation || t.shape.size() != 2) return false;
    const Dim columns = t.shape.back();
    if (columns.symbol != Symbol::one || columns.n % block_ != 0) return false;
    if (maker.kind == OpKind::rms_norm) return quantize.in.size() == 1;
    const std::size_t operands = maker.kind == OpKind::swiglu        ? 1
                                 : maker.kind == OpKind::swiglu_prob ? 2  // experts: rows of each
                                                                     : 0;
    return quantize.in.size() == operands && maker.attr.function == Elementwise::none;
  }

  static void join(Op& maker, const Op& quantize) {
    maker.attr.source = maker.out.front();
    maker.attr.passes = 1;
    if (maker.kind == OpKind::rms_norm) {
      maker.out = {quantize.out[0], quantize.out[1], maker.out[1]};
      maker.kind = OpKind::rms_norm_quantize;
      return;
    }
    if (quantize.in.size() > 1) maker.in.push_back(quantize.in[1]);
    maker.out = quantize.out;
    maker.kind = OpKind::swiglu_quantize;
  }

  // The residual that the norm's input is the sum with: added in the same kernel.
  void take_sum(const Op& sum, std::vector<Op>& result) const {
    Op& norm = result.back();
    if (norm.kind != OpKind::rms_norm_quantize || sum.kind != OpKind::add) return;
    if (sum.in.size() != 2 || sum.out.front() != norm.in.front()) return;
    if (sum.phase != norm.phase) return;
    const auto type = [&](TensorId t) { return layer_.tensor(t).dtype; };
    if (type(sum.in[0]) != type(sum.out[0]) || type(sum.in[1]) != type(sum.out[0])) return;
    norm.out.push_back(sum.out.front());
    norm.in = {sum.in[0], norm.in[1], sum.in[1]};
    result.erase(result.end() - 2);
  }

  LayerProgram& layer_;
  std::int64_t block_;
  std::vector<int> uses_;  // of every tensor: operands that are it
};

}  // namespace

bool makes_codes(const Op& op) {
  return op.kind == OpKind::rms_norm_quantize || op.kind == OpKind::swiglu_quantize;
}

std::vector<Op> taken_apart(const Op& op) {
  Op make = op, quantize = op;
  make.out = {op.attr.source};
  quantize.kind = OpKind::quantize;
  quantize.name += ".codes";
  quantize.in = {op.attr.source};
  quantize.out = {op.out[0], op.out[1]};
  std::vector<Op> all;
  if (op.kind == OpKind::rms_norm_quantize) {
    make.kind = OpKind::rms_norm;
    make.in = {op.in[0], op.in[1]};
    make.out.push_back(op.out[2]);
    if (op.in.size() > 2) {
      Op sum = op;
      sum.kind = OpKind::add;
      sum.name += ".sum";
      sum.in = {op.in[0], op.in[2]};
      sum.out = {op.out[3]};
      all.push_back(sum);
      make.in[0] = op.out[3];
    }
  } else {
    const bool routed = op.in.size() > 1;
    make.kind = routed ? OpKind::swiglu_prob : OpKind::swiglu;
    make.in.resize(routed ? 2 : 1);
    if (routed) quantize.in.push_back(op.in[2]);
  }
  all.push_back(make);
  all.push_back(quantize);
  return all;
}

void fuse_quantization(LayerProgram& layer, const Plan& plan) {
  const std::optional<std::int64_t> block = block_length(plan.precision);
  if (!block) return;
  Fuser fuser(layer, *block);
  fuser.run(layer.forward);
  fuser.run(layer.backward);
}

}  // namespace pleat
