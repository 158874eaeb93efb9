// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The printed form of programs: every operation with its operands, shapes, types and lifetimes.
#include <fmt/format.h>

#include "core/program/program.hpp"

namespace pleat {
namespace {

std::string shape_text(const Tensor& t, const Binding& binding) {
  std::string text = "[";
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    const Dim d = t.shape[i];
    if (i > 0) text += ",";
    switch (d.symbol) {
      case Symbol::one: text += std::to_string(d.n); break;
      case Symbol::routed:
        text += (d.n == 1 ? "R" : fmt::format("{}R", d.n)) + fmt::format("={}", binding.value(d));
        break;
      case Symbol::gathered: text += fmt::format("C={}", binding.value(d)); break;
      case Symbol::kept: text += fmt::format("K={}", binding.value(d)); break;
    }
  }
  return text + "]";
}

std::string point_text(const LayerProgram& layer, const std::optional<Point>& p, const char* open) {
  if (!p) return open;
  return layer.ops(p->pass)[static_cast<std::size_t>(p->op)].name;
}

std::string lives_text(const LayerProgram& layer, TensorId id) {
  const Tensor& t = layer.tensor(id);
  if (t.cls != TensorClass::activation) return "step";
  for (const Lifetime& life : layer.lives) {
    if (life.tensor != id) continue;
    const bool saved = (!life.begin || life.begin->pass == Pass::forward) && life.end &&
                       life.end->pass == Pass::backward;
    return (saved ? "saved to " : "to ") + point_text(layer, life.end, "the next layer");
  }
  return "unused";
}

std::string operands(const LayerProgram& layer, const std::vector<TensorId>& ids) {
  std::string text;
  for (TensorId id : ids) text += (text.empty() ? "" : ", ") + layer.tensor(id).name;
  return text;
}

std::string op_line(const LayerProgram& layer, const Op& op) {
  std::string line = fmt::format("{} = {}({})", operands(layer, op.out), name_of(op.kind),
                                 operands(layer, op.in));
  if (op.out.empty()) line = fmt::format("{}({})", name_of(op.kind), operands(layer, op.in));
  if (op.attr.accumulate) line += op.attr.first_writes ? " =, then +=" : " +=";
  if (op.group != Group::none) line += "  over " + name_of(op.group);
  if (op.host_sync) line += "  host_sync";
  return line;
}

const char* kind_text(LayerKind kind) {
  switch (kind) {
    case LayerKind::embedding: return "embedding";
    case LayerKind::dense: return "dense";
    case LayerKind::moe: return "moe";
    case LayerKind::mtp: return "mtp";
    case LayerKind::head: return "head";
    case LayerKind::recv: return "recv";
    case LayerKind::send: return "send";
  }
  return "?";
}

}  // namespace

std::string print_layer(const LayerProgram& layer, const Binding& binding) {
  std::string text = fmt::format("layer {}\n", kind_text(layer.kind));
  for (Pass pass : {Pass::forward, Pass::backward}) {
    bool first = true;
    for (const Op& op : layer.ops(pass)) {
      const std::string lead = first ? (pass == Pass::forward ? "fwd" : "bwd") : "";
      const std::string mark = op.phase == Phase::recompute ? " (recompute)" : "";
      first = false;
      text +=
          fmt::format("  {:3}  {:<78} {:<14}", lead, op_line(layer, op) + mark, name_of(op.module));
      for (TensorId id : op.out) {
        const Tensor& t = layer.tensor(id);
        text += fmt::format(" {} {} {};", name_of(t.dtype), shape_text(t, binding),
                            lives_text(layer, id));
      }
      text += "\n";
    }
  }
  std::int64_t saved = 0;
  for (TensorId id : saved_tensors(layer)) saved += layer.tensor(id).bytes(binding);
  std::int64_t weights = 0;
  for (const Weight& w : layer.weights) weights += w.elements;
  text += fmt::format("  {} weight elements, {} bytes saved for backward\n", weights, saved);
  return text;
}

std::string print_stage(const StageProgram& stage, const Binding& binding) {
  std::string text = fmt::format("stage {}: {} chunks, {} slots\n", stage.stage.value,
                                 stage.chunks.size(), stage.order.size());
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    text += fmt::format("chunk {}:", c);
    for (const LayerInstance& i : stage.chunks[c].instances) {
      text += fmt::format(" {}", kind_text(stage.program(i).kind));
      const LayerKind kind = stage.program(i).kind;
      if (kind == LayerKind::dense || kind == LayerKind::moe)
        text += fmt::format("{}", i.layer.value);
    }
    text += "\n";
  }
  text += "order:";
  for (const Slot& s : stage.order) {
    const char* const letter = s.pass == Pass::forward                 ? "F"
                               : s.part == SlotPart::whole           ? "B"
                               : s.part == SlotPart::input_gradients ? "I"
                                                                     : "W";
    text += fmt::format(" {}{}.{}", letter, s.microbatch.value, s.chunk.value);
  }
  text += "\n\n";
  for (const LayerProgram& layer : stage.layers) text += print_layer(layer, binding) + "\n";
  text += "state\n";
  for (const Tensor& t : stage.state) {
    text += fmt::format("  {:<22} {} {}\n", t.name, name_of(t.dtype), shape_text(t, binding));
  }
  for (const auto* ops : {&stage.prologue, &stage.epilogue}) {
    text += ops == &stage.prologue ? "prologue\n" : "epilogue\n";
    for (const Op& op : *ops) {
      std::string in, out;
      for (TensorId id : op.in) in += (in.empty() ? "" : ", ") + stage.state[id.index()].name;
      for (TensorId id : op.out) out += (out.empty() ? "" : ", ") + stage.state[id.index()].name;
      text += fmt::format("  {} = {}({}){}\n", out, name_of(op.kind), in,
                          op.group == Group::none ? "" : "  over " + name_of(op.group));
    }
  }
  return text;
}

}  // namespace pleat
