// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism by p2p: a ring of keys and values.
#include <algorithm>
#include <string>

#include "core/program/layer_builder.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

class Ring {
 public:
  Ring(LayerProgram& layer, int ranks, Group group) : layer_(layer), ranks_(ranks), group_(group) {}

  void forward() {
    rewrite(layer_.forward, [&](const Op& gather, const Op& core, std::vector<Op>& ops) {
      TensorId piece = pack(gather, ops);
      for (int step = 0; step < ranks_; ++step) {
        if (step > 0) piece = shift(gather, "kv.ring", step, piece, ops);
        Op part = part_of(core, step);
        replace(part.in, gather.out.front(), piece);
        ops.push_back(part);
      }
    });
  }

  void backward() {
    std::vector<Op> old = layer_.backward;
    rewrite(layer_.backward, [&](const Op& gather, const Op& core, std::vector<Op>& ops) {
      const auto scatter = std::ranges::find_if(old, [&](const Op& op) {
        return op.kind == OpKind::reduce_key_gradients && op.in.front() == keys_of(core.out);
      });
      PLEAT_ASSERT(scatter != old.end());
      TensorId piece = pack(gather, ops);
      TensorId gradient = add_piece("d.kv.piece", piece);
      for (int step = 0; step < ranks_; ++step) {
        if (step > 0) {
          piece = shift(gather, "kv.ring.again", step, piece, ops);
          gradient = shift(gather, "d.kv.ring", step, gradient, ops);
        }
        Op part = part_of(core, step);
        replace(part.in, gather.out.front(), piece);
        std::vector<TensorId> out{core.out.front(), gradient};
        if (part.out.back() != keys_of(core.out)) out.push_back(part.out.back());
        part.out = out;
        ops.push_back(part);
      }
      gradient = shift(gather, "d.kv.ring", ranks_, gradient, ops);  // home
      Op unpack = *scatter;
      unpack.kind = OpKind::unpack_keys;
      unpack.name = "kv.unpack";
      unpack.group = Group::none;
      unpack.in = {gradient};
      ops.push_back(unpack);
    });
    std::erase_if(layer_.backward, [&](const Op& op) {
      return op.kind == OpKind::reduce_key_gradients && op.group == group_;
    });
  }

 private:
  // Calls steps(gather, core, to) in place of each gather over the ring and the core that reads it.
  template <class Steps>
  void rewrite(std::vector<Op>& ops, Steps steps) {
    std::vector<Op> old = std::move(ops);
    ops.clear();
    const Op* gather = nullptr;
    for (const Op& op : old) {
      if (op.kind == OpKind::gather_keys && op.group == group_) {
        gather = &op;
      } else if (gather != nullptr && std::ranges::count(op.in, gather->out.front()) > 0) {
        steps(*gather, op, ops);
        gather = nullptr;
      } else {
        ops.push_back(op);
      }
    }
  }

  // Like a piece of what was gathered.
  TensorId add_piece(const std::string& name, TensorId like) {
    Tensor piece = layer_.tensor(like);
    piece.name = name;
    layer_.tensors.push_back(std::move(piece));
    return TensorId{static_cast<int>(layer_.tensors.size()) - 1};
  }

  TensorId pack(const Op& gather, std::vector<Op>& ops) {
    const TensorId whole = gather.out.front();
    const TensorId piece = add_piece(layer_.tensor(whole).name + ".piece", whole);
    layer_.tensors[piece.index()].shape.front().n /= ranks_;
    Op op = gather;
    op.kind = OpKind::pack_keys;
    op.name += ".pack";
    op.group = Group::none;
    op.out = {piece};
    ops.push_back(op);
    return piece;
  }

  TensorId shift(const Op& gather, const std::string& name, int step, TensorId piece,
                 std::vector<Op>& ops) {
    Op op;
    op.kind = OpKind::ring_shift;
    op.name = name + "." + std::to_string(step);
    op.phase = gather.phase;
    op.belongs_with(gather);
    op.group = group_;
    op.in = {piece};
    op.out = {add_piece(op.name, piece)};
    ops.push_back(op);
    return op.out.front();
  }

  // The gradient of gathered keys is the last, before that of sinks.
  TensorId keys_of(const std::vector<TensorId>& out) const {
    const bool sinks = layer_.tensor(out.back()).cls == TensorClass::gradient;
    return out[out.size() - (sinks ? 2 : 1)];
  }

  // The first step counts the sinks too.
  Op part_of(const Op& core, int step) const {
    Op part = core;
    if (step > 0) {
      part.name += "." + std::to_string(step);
      const auto of_weights = [&](TensorId id) {
        const TensorClass cls = layer_.tensor(id).cls;
        return cls == TensorClass::weight || cls == TensorClass::gradient;
      };
      std::erase_if(part.in, of_weights);
      std::erase_if(part.out, of_weights);
    }
    part.attr.pieces = ranks_;
    part.attr.piece = step;
    part.attr.accumulate = step > 0;
    return part;
  }

  static void replace(std::vector<TensorId>& ids, TensorId from, TensorId to) {
    std::ranges::replace(ids, from, to);
  }

  LayerProgram& layer_;
  int ranks_;
  Group group_;
};

}  // namespace

void apply_ring(LayerProgram& layer, const Plan& plan) {
  const ContextShares shares(plan);
  const bool ring = plan.cp_comm == CpComm::p2p || plan.cp_comm == CpComm::a2a_p2p;
  if (!ring || shares.ring == 1) return;
  Ring steps(layer, shares.ring, shares.ring_group);
  steps.forward();
  steps.backward();
}

}  // namespace pleat
