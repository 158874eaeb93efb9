// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_savings.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/program/passes/offload.hpp"
#include "core/program/passes/recompute.hpp"
#include "simulator/cost/op_work.hpp"
#include "simulator/layer_work.hpp"

namespace pleat {
namespace {

std::uint32_t bit(SavingPart part) { return 1U << static_cast<unsigned>(part); }

std::optional<SavingPart> part_of(Module module) {
  switch (module) {
    case Module::layernorm:
      return SavingPart::layernorm;
    case Module::mla_up_proj:
      return SavingPart::mla_up_proj;
    case Module::core_attn:
      return SavingPart::core_attn;
    case Module::mlp:
      return SavingPart::mlp;
    case Module::moe_act:
      return SavingPart::moe_act;
    case Module::shared_experts:
      return SavingPart::shared_experts;
    case Module::moe:
    case Module::router:
    case Module::dispatch:
    case Module::experts:
    case Module::combine:
      return SavingPart::rest_of_moe;
    case Module::embedding:
    case Module::qkv:
    case Module::attn_proj:
    case Module::residual:
    case Module::head:
    case Module::grad_sync:
    case Module::optimizer:
    case Module::pipeline:
      return std::nullopt;
  }
  return std::nullopt;
}

class Savings {
 public:
  Savings(const LayerProgram& layer, Runtime runtime, const Binding& binding,
          const ClusterView& view, const Profile& profile)
      : layer_(layer),
        megatron_(runtime == Runtime::megatron),
        binding_(binding),
        view_(view),
        profile_(profile),
        writers_(layer.tensors.size()) {
    for (std::size_t i = 0; i < layer.forward.size(); ++i) {
      for (const TensorId t : layer.forward[i].out) writers_[t.index()].push_back(i);
    }
  }

  LayerSavings run() {
    LayerSavings s;
    std::vector<std::uint32_t> read(layer_.tensors.size());  // by parts that run again
    for (std::size_t part = 0; part < kSavingParts; ++part) {
      const std::vector<bool> again = run_again(static_cast<SavingPart>(part));
      s.again[part] = time_of(again);
      for (std::size_t i = 0; i < again.size(); ++i) {
        if (!again[i]) continue;
        for (const TensorId t : layer_.forward[i].in) read[t.index()] |= 1U << part;
      }
    }
    s.all_again = time_of(run_again(std::nullopt));
    add_bytes(s, read);
    return s;
  }

 private:
  // Of the whole layer, or of one part of it.
  [[nodiscard]] bool within(std::size_t op, std::optional<SavingPart> part) const {
    const Op& o = layer_.forward[op];
    return can_run_again(o) && (!part || part_of(o.module) == part);
  }

  // A checkpointed module of Megatron runs again in full.
  [[nodiscard]] bool whole_module(std::optional<SavingPart> part) const {
    return megatron_ && (!part || part == SavingPart::mlp || part == SavingPart::shared_experts ||
                         part == SavingPart::rest_of_moe);
  }

  [[nodiscard]] bool only_within(TensorId t, std::optional<SavingPart> part) const {
    const std::vector<std::size_t>& writers = writers_[t.index()];
    return !writers.empty() && t != layer_.output &&
           std::ranges::all_of(writers, [&](std::size_t w) { return within(w, part); });
  }

  // The projection keeps what Megatron's checkpoint of the attention core writes.
  [[nodiscard]] bool stays_for(TensorId t, const Op& reader) const {
    if (!megatron_ || reader.module == Module::core_attn) return false;
    const std::vector<std::size_t>& writers = writers_[t.index()];
    return !writers.empty() && layer_.forward[writers.front()].module == Module::core_attn;
  }

  // Forward operations that run again at least.
  std::vector<bool> run_again(std::optional<SavingPart> part) {
    std::vector<bool> again(layer_.forward.size());
    bool any = false;
    const auto make_again = [&](const auto& self, TensorId t) -> void {
      if (!only_within(t, part)) return;
      any = true;
      for (const std::size_t w : writers_[t.index()]) {
        if (again[w]) continue;
        again[w] = true;
        for (const TensorId read : layer_.forward[w].in) self(self, read);
      }
    };
    for (const Op& op : layer_.backward) {
      for (const TensorId t : op.in) {
        if (!(part && stays_for(t, op))) make_again(make_again, t);
      }
    }
    for (std::size_t i = 0; any && whole_module(part) && i < again.size(); ++i) {
      again[i] = again[i] || within(i, part);
    }
    return again;
  }

  [[nodiscard]] Seconds time_of(const std::vector<bool>& again) const {
    Seconds time;
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (!again[i] || !is_compute(class_of(layer_.forward[i]))) continue;
      time += price_op(layer_.forward[i], layer_.tensors, binding_, view_, profile_).time;
    }
    return time;
  }

  // Whether no choice can make it once more.
  [[nodiscard]] bool is_only_made_once(TensorId t) const {
    const std::vector<std::size_t>& writers = writers_[t.index()];
    return !writers.empty() && std::ranges::none_of(writers, [&](std::size_t w) {
      const Op& op = layer_.forward[w];
      return (can_run_again(op) && part_of(op.module)) || family_of(op.kind) == OpKind::quantize;
    });
  }

  // Parts whose recompute may drop the tensor.
  [[nodiscard]] std::uint32_t dropped_by(TensorId t) const {
    std::uint32_t parts = 0;
    for (const Op& op : layer_.backward) {
      if (std::ranges::count(op.in, t) > 0 && stays_for(t, op)) return parts;
    }
    const auto add = [&](std::size_t writer) {
      if (!can_run_again(layer_.forward[writer])) return;
      if (const auto part = part_of(layer_.forward[writer].module)) parts |= bit(*part);
    };
    for (const std::size_t w : writers_[t.index()]) {
      add(w);
      if (family_of(layer_.forward[w].kind) != OpKind::quantize) continue;
      // Megatron quantizes a recomputed source again, whosever the quantization is.
      for (const std::size_t source : writers_[layer_.forward[w].in.front().index()]) add(source);
    }
    return parts;
  }

  void add_bytes(LayerSavings& s, const std::vector<std::uint32_t>& read) {
    const Binding kept{.routed = binding_.stashed > 0 ? binding_.stashed : binding_.routed};
    // By tensor, a bit for each Offload: that sends it away; that would if it were saved.
    std::vector<std::uint32_t> offload(layer_.tensors.size()), named(layer_.tensors.size());
    for (const Offload choice : kOffloads) {
      const std::uint32_t bit_of_choice = 1U << static_cast<unsigned>(choice);
      for (const TensorId t : offloaded_by(choice, layer_)) offload[t.index()] |= bit_of_choice;
      for (const TensorId t : read_by(choice, layer_)) named[t.index()] |= bit_of_choice;
    }
    const auto add_to = [&](std::vector<SavedBytes>& list, TensorId t, std::uint32_t parts,
                            std::uint32_t sent) {
      const std::int64_t bytes = layer_.tensor(t).bytes(kept);
      if ((parts | sent) == 0 || bytes == 0) return;
      const auto same = std::ranges::find_if(
          list, [&](const SavedBytes& b) { return b.parts == parts && b.offload == sent; });
      if (same == list.end()) list.push_back({parts, sent, bytes});
      else same->bytes += bytes;
    };
    const auto add = [&](TensorId t, std::uint32_t parts) {
      add_to(s.saved, t, parts, offload[t.index()]);
    };
    for (const Lifetime& life : layer_.lives) {
      const bool born = life.begin && life.begin->pass == Pass::forward;
      const bool freed = life.end && life.end->pass == Pass::forward;
      const std::uint32_t parts = read[life.tensor.index()];
      if (born && freed && parts != 0 && is_only_made_once(life.tensor)) {
        add_to(s.kept, life.tensor, parts, named[life.tensor.index()]);
      }
      if (!born || freed || life.tensor == layer_.output) continue;
      add(life.tensor, dropped_by(life.tensor));
      s.all_saves += layer_.tensor(life.tensor).bytes(kept);
    }
    add(*layer_.input, 0);  // the output of the layer before
    s.whole = s.all_saves + layer_.tensor(*layer_.input).bytes(kept);
    const BytesPerSecond link = view_.cluster->gpu.host_link;
    if (link > BytesPerSecond(0) && !on_cpu(view_)) s.per_byte = (Bytes(1) / link).base();
  }

  const LayerProgram& layer_;
  bool megatron_;
  const Binding& binding_;
  const ClusterView& view_;
  const Profile& profile_;
  std::vector<std::vector<std::size_t>> writers_;  // by tensor: forward operations
};

}  // namespace

std::uint32_t parts_of(const std::set<Module>& modules) {
  std::uint32_t parts = 0;
  for (const Module m : modules) {
    if (const auto part = part_of(m)) parts |= bit(*part);
    if (m == Module::moe) parts |= bit(SavingPart::moe_act) | bit(SavingPart::shared_experts);
  }
  return parts;
}

LayerSavings savings_of(const LayerProgram& layer, Runtime runtime, const Binding& binding,
                        const ClusterView& view, const Profile& profile) {
  const bool decoder = layer.kind == LayerKind::dense || layer.kind == LayerKind::moe ||
                       layer.kind == LayerKind::mtp;
  if (!decoder) return {};
  return Savings(layer, runtime, binding, view, profile).run();
}

}  // namespace pleat
