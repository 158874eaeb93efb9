// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/program_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "application/request/plan_values.hpp"
#include "application/request/request.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {
namespace {

constexpr std::int64_t kSeqLen = 4096;

// Fills what was not given and returns it as flags. The world is the smallest that holds both
// grids; the batch one pass of the pipeline.
std::vector<std::string> fill_defaults(PlanOptions& o) {
  std::vector<std::string> assumed;
  if (!o.plan_file.empty()) return assumed;
  TargetOptions& t = o.target;
  const ShapeOptions& s = o.shape;
  if (t.cluster.empty()) {
    t.cluster = t.runtime == "pleat" ? "localhost" : "h100-sxm";
    assumed.push_back("--cluster " + t.cluster);
  }
  const auto tp = s.of<&Plan::attention, &AttentionMapping::tp>().value_or(1);
  const auto cp = s.of<&Plan::attention, &AttentionMapping::cp>().value_or(1);
  const std::int64_t pp = s.of<&Plan::attention, &AttentionMapping::pp>().value_or(1);
  const auto etp = s.of<&Plan::expert, &ExpertMapping::etp>().value_or(1);
  const auto ep = s.of<&Plan::expert, &ExpertMapping::ep>().value_or(1);
  const std::int64_t dense = std::int64_t{tp} * cp * pp;
  const std::int64_t expert = std::int64_t{etp} * ep * pp;
  if (!t.gpus) {
    t.gpus = static_cast<int>(std::min<std::int64_t>(std::lcm(dense, expert), 16'777'216));
    assumed.push_back(fmt::format("--gpus {}", *t.gpus));
  }
  if (!t.seq_len) {
    t.seq_len = kSeqLen;
    assumed.push_back(fmt::format("--seq-len {}", kSeqLen));
  }
  if (!t.global_batch.has_value()) {
    t.global_batch.sequences =
        std::max<std::int64_t>(1, *t.gpus / dense) * s.of<&Plan::micro_batch>().value_or(1) * pp;
    assumed.push_back(fmt::format("--global-batch {}", *t.global_batch.sequences));
  }
  return assumed;
}

struct Place {
  const StageProgram* stage = nullptr;
  const LayerProgram* layer = nullptr;  // nullptr: the whole stage
};

Place find_layer(const Program& program, std::int64_t layer, const std::optional<int>& only) {
  for (const StageProgram& stage : program.stages) {
    if (only && stage.stage.value != *only) continue;
    for (const ChunkProgram& chunk : stage.chunks) {
      for (const LayerInstance& instance : chunk.instances) {
        const LayerProgram& found = stage.program(instance);
        const bool decoder = found.kind == LayerKind::dense || found.kind == LayerKind::moe;
        if (decoder && instance.layer.value == layer) return {&stage, &found};
      }
    }
  }
  throw_config_error(
      ExitCode::bad_request, "--layer", "",
      only ? fmt::format("layer {} is not on stage {}", layer, *only)
           : fmt::format("there is no layer {}", layer),
      fmt::format("{} has layers 0 to {}", program.model.name, program.model.layers - 1));
}

Place select(const Program& program, const ProgramOptions& o) {
  const int stages = static_cast<int>(program.stages.size());
  if (o.stage && *o.stage >= stages) {
    throw_config_error(ExitCode::bad_request, "--stage", "",
                       fmt::format("there is no stage {}", *o.stage),
                       fmt::format("the plan has stages 0 to {}", stages - 1));
  }
  if (o.layer) return find_layer(program, *o.layer, o.stage);
  return {&program.stages[static_cast<std::size_t>(o.stage.value_or(0))], nullptr};
}

JsonValue shape_json(const Tensor& tensor, const Binding& binding) {
  JsonValue shape = JsonValue::array();
  for (const Dim& d : tensor.shape) shape.push_back(binding.value(d));
  return shape;
}

JsonValue op_json(const Op& op, const LayerProgram& layer) {
  const auto names = [&](const std::vector<TensorId>& ids) {
    JsonValue list = JsonValue::array();
    for (const TensorId id : ids) list.push_back(layer.tensor(id).name);
    return list;
  };
  JsonValue json = JsonValue::object();
  json.set("name", op.name)
      .set("kind", name_of(op.kind))
      .set("phase", name_of(op.phase))
      .set("module", name_of(op.module))
      .set("group", name_of(op.group))
      .set("host_sync", op.host_sync)
      .set("in", names(op.in))
      .set("out", names(op.out));
  return json;
}

JsonValue layer_json(const LayerProgram& layer, const Binding& binding) {
  JsonValue tensors = JsonValue::array();
  for (const Tensor& tensor : layer.tensors) {
    JsonValue json = JsonValue::object();
    json.set("name", tensor.name)
        .set("dtype", name_of(tensor.dtype))
        .set("shape", shape_json(tensor, binding))
        .set("bytes", tensor.bytes(binding));
    tensors.push_back(json);
  }
  const auto ops = [&](const std::vector<Op>& list) {
    JsonValue json = JsonValue::array();
    for (const Op& op : list) json.push_back(op_json(op, layer));
    return json;
  };
  JsonValue json = JsonValue::object();
  json.set("tensors", tensors)
      .set("forward", ops(layer.forward))
      .set("backward", ops(layer.backward));
  return json;
}

std::string program_json(const Request& r, const Place& place, const Binding& binding) {
  JsonValue layers = JsonValue::array();
  if (place.layer != nullptr) layers.push_back(layer_json(*place.layer, binding));
  else for (const LayerProgram& l : place.stage->layers) layers.push_back(layer_json(l, binding));
  JsonValue json = JsonValue::object();
  json.set("model", r.target.model.name)
      .set("plan", summary(r.plan))
      .set("runtime", name_of_runtime(r.target.runtime))
      .set("stage", place.stage->stage.value)
      .set("routed_tokens", binding.routed)
      .set("layers", layers);
  return json.dump() + "\n";
}

}  // namespace

void show_program(const ProgramOptions& o) {
  PlanOptions plan = o.plan;
  std::vector<std::string> assumed = fill_defaults(plan);
  const Request r = resolve_request(plan);
  const Program program = compile_request(r);
  const Place place = select(program, o);
  const Binding binding{balanced_routed_tokens(program.model, program.workload, program.plan)};
  if (o.json) {
    print(program_json(r, place, binding));
    return;
  }
  assumed.insert(assumed.end(), r.target.assumed.begin(), r.target.assumed.end());
  print(fmt::format("{}, {}, runtime {}\n{}stage {} of {}, R = {} routed tokens (balanced)\n\n",
                    r.target.model.name, summary(r.plan), name_of_runtime(r.target.runtime),
                    assumed_text(assumed), place.stage->stage.value, program.stages.size(),
                    binding.routed));
  print(place.layer != nullptr ? print_layer(*place.layer, binding)
                               : print_stage(*place.stage, binding));
}

}  // namespace pleat::cli
