// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Buffers a runtime holds beside the program's tensors.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "core/quantity.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

constexpr double kCudaContext = 0.9 * kGiB;       // context and modules
constexpr double kCommunicator = 0.39 * kGiB;     // NCCL ring buffers of one communicator
constexpr double kCublasWorkspace = kGiB / 32;    // 32 MiB on Hopper and Blackwell

// Communicators Megatron creates that have more than one member.
int communicators(const Plan& plan) {
  int count = plan.world() > 1 ? 1 : 0;
  for (Group g : {Group::tp, Group::cp, Group::dp_cp, Group::ep, Group::etp, Group::edp,
                  Group::pp_next, Group::embedding}) {
    if (group_size(plan, g) > 1) ++count;
  }
  if (group_size(plan, Group::cp) > 1 && group_size(plan, Group::dp) > 1)
    ++count;  // dp beside dp_cp
  if (plan.shard_instances() > 1) {  // within and across instances, beside dp_cp
    for (Group g : {Group::dp_shard, Group::dp_replicas, Group::edp_shard, Group::edp_replicas}) {
      if (group_size(plan, g) > 1) ++count;
    }
  }
  if (group_size(plan, Group::copies) > 1) ++count;
  if (plan.cp_a2a > 0) count += 2;
  return count;
}

bool has_layer(const StageProgram& stage, LayerKind kind) {
  return std::ranges::any_of(stage.layers, [=](const LayerProgram& l) { return l.kind == kind; });
}

using Shapes = std::set<std::pair<std::int64_t, std::int64_t>>;

// TransformerEngine keeps one bf16 gradient of every distinct local weight shape when gradients are
// accumulated into main_grad (TE module/base.py get_dummy_wgrad). Routers and the head are not its.
void add_dummy_wgrads(const LayerProgram& layer, Shapes& shapes) {
  if (layer.kind == LayerKind::embedding || layer.kind == LayerKind::head) return;
  for (const Op& op : layer.backward) {
    const bool gemm = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
    if (!gemm || op.phase != Phase::wgrad || op.module == Module::router) continue;
    const Tensor& t = layer.tensor(op.out.front());
    shapes.insert({t.shape[t.shape.size() - 2].n, t.shape.back().n});
  }
}

double bytes_of_shapes(const Shapes& shapes) {
  double bytes = 0;
  for (const auto& [rows, columns] : shapes) {
    bytes += 2.0 * static_cast<double>(rows) * static_cast<double>(columns);
  }
  return bytes;
}

double dummy_wgrads(const StageProgram& stage) {
  Shapes shapes;
  for (const LayerProgram& layer : stage.layers) add_dummy_wgrads(layer, shapes);
  return bytes_of_shapes(shapes);
}

// cuBLAS workspaces of TransformerEngine (get_cublas_workspace_size_bytes; grouped GEMMs run on
// four streams with one each) and, where torch multiplies (head, router), of torch.
double workspaces(bool moe, bool head) {
  return kCublasWorkspace * (1 + (moe ? 4 : 0) + (moe || head ? 1 : 0));
}

double tokens_of(const CompiledFrom& from) {  // of a microbatch on one context shard
  return static_cast<double>(from.workload.seq_len) * from.plan.micro_batch /
         from.plan.attention.cp;
}

// Of a tensor between layers, in bf16.
double boundary_bytes(const CompiledFrom& from) {
  const bool sp = from.plan.attention.tp > 1 && from.plan.sequence_parallel;
  return tokens_of(from) / (sp ? from.plan.attention.tp : 1) *
         static_cast<double>(from.model.hidden) * 2.0;
}

// The head's gathered input (mcore get_global_memory_buffer "mpu").
double gather_buffer(const CompiledFrom& from, const StageProgram& stage) {
  const bool sp = from.plan.attention.tp > 1 && from.plan.sequence_parallel;
  if (!sp || !has_layer(stage, LayerKind::head)) return 0;
  const bool depths = has_layer(stage, LayerKind::mtp);
  const double heads = depths ? 1.0 + static_cast<double>(from.model.mtp_layers) : 1;
  return heads * tokens_of(from) * static_cast<double>(from.model.hidden) * 2.0;
}

// Fused gradient accumulation leaves autograd an empty gradient of the head's weight (mcore
// tensor_parallel/layers.py). In SimuMax's runs of DeepSeek-V2 and V3 on B200 it is still there in
// the layers' next forward pass.
double head_gradient(const LayerProgram& layer) {
  if (layer.kind != LayerKind::head) return 0;
  for (const Op& op : layer.backward) {
    const bool gemm = op.kind == OpKind::gemm && op.phase == Phase::wgrad;
    if (!gemm || op.module != Module::head) continue;
    const Tensor& t = layer.tensor(op.out.front());
    return 2.0 * static_cast<double>(t.elements(Binding{}));
  }
  return 0;
}

double head_gradient(const StageProgram& stage) {
  for (const LayerProgram& layer : stage.layers) {
    if (const double bytes = head_gradient(layer); bytes > 0) return bytes;
  }
  return 0;
}

// Boundary tensors the schedule's variables still name: the input gradient it sent last (1F1B, not
// on the first stage), and with interleaving a received tensor in each direction
// (mcore pipeline_parallel/schedules.py).
double pipeline_buffers(const CompiledFrom& from, Stage stage) {
  const Plan& plan = from.plan;
  if (plan.attention.pp == 1) return 0;
  const double boundary = boundary_bytes(from);
  if (plan.vpp > 1) return 2 * boundary;
  return stage.value > 0 ? boundary : 0;
}

// HybridEP registers one receive buffer for the worst routing, every rank's tokens, and one for
// their fp32 probabilities of all experts in the domain (taken to hold the whole group).
double hybridep_buffer(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan) {
  if (plan.dispatcher != Dispatcher::hybridep || plan.expert.ep <= 1) return 0;
  const AttentionMapping& a = plan.attention;
  const double tokens = static_cast<double>(workload.seq_len) * plan.micro_batch /
                        (a.cp * (plan.sequence_parallel ? a.tp : 1));
  const double rows = tokens * plan.expert.ep;
  const double experts = model.moe ? static_cast<double>(model.moe->experts) : 0;
  const double h = static_cast<double>(model.hidden);
  return rows * (h * 2.0 + h / 128 * 4.0 + experts * 4.0);  // the scales of narrow rows in between
}

// DeepEP's queues: each channel has one for every peer of its NVLink domain, which is eight, and
// with several domains one each way for each of them (config.hpp of its legacy kernels; chunks of
// its default configurations). A row carries its scales, indices and weights too.
double deepep_buffer(const ModelSpec& model, const Plan& plan) {
  if (plan.dispatcher != Dispatcher::deepep || plan.expert.ep <= 1) return 0;
  constexpr double kPeers = 8, kNvlinkChunk = 256, kRdmaChunk = 128, kRowExtra = 1700;
  constexpr int kDefaultSms = 20;
  const int sms = plan.dispatcher_sms > 0 ? plan.dispatcher_sms : kDefaultSms;
  const double channels = sms / 2.0, domains = std::ceil(plan.expert.ep / kPeers);
  const double row = 2.0 * static_cast<double>(model.hidden) + kRowExtra;
  const double rdma = domains > 1 ? 2.0 * channels * domains * kRdmaChunk * row : 0;
  return channels * std::min<double>(kPeers, plan.expert.ep) * kNvlinkChunk * row + rdma;
}

std::vector<LayerElements> elements_of(const StageProgram& stage) {
  std::vector<LayerElements> layers;
  for (const LayerProgram& layer : stage.layers) {
    LayerElements& of = layers.emplace_back(layer.kind);
    for (const Weight& w : layer.weights) {
      if (!w.buffer)
        (w.bucket == Bucket::dense ? of.dense : of.expert) += static_cast<double>(w.elements);
    }
  }
  return layers;
}

}  // namespace

// Megatron-FSDP gathers the weights of the next layer beside those of the current one and reduces
// the gradients of the last one beside it: one more of the largest layer than the program holds.
// What is in no layer (tables, head) stays gathered from its first use on: only units are released
// (megatron_fsdp.py, _post_forward and _root_pre_backward).
double fsdp_bytes(const Plan& plan, const std::vector<LayerElements>& layers) {
  if (plan.sharding != Sharding::zero2 && plan.sharding != Sharding::zero3) return 0;
  const bool gathers = plan.sharding == Sharding::zero3;
  double unit = 0, rest = 0;  // elements
  for (const LayerElements& layer : layers) {
    const double elements = (plan.attention.dp * plan.attention.cp > 1 ? layer.dense : 0) +
                            (plan.expert.edp > 1 ? layer.expert : 0);
    const bool outside = layer.kind == LayerKind::embedding || layer.kind == LayerKind::head;
    if (outside) rest += elements;
    else unit = std::max(unit, elements);
  }
  const double gradient = static_cast<double>(bytes_of(plan.optimizer.main_grads, 32)) / 32;
  return unit * gradient + (gathers ? 2.0 * (unit + rest) : 0);
}

std::int64_t outside_bytes(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                           Runtime runtime) {
  switch (runtime) {
    case Runtime::pleat: return 0;
    case Runtime::megatron:
      return static_cast<std::int64_t>(kCudaContext + kCommunicator * communicators(plan) +
                                       hybridep_buffer(model, workload, plan) +
                                       deepep_buffer(model, plan));
  }
  return 0;
}

RuntimeBytes runtime_bytes(const CompiledFrom& from, const StageProgram& stage) {
  switch (from.runtime) {
    case Runtime::pleat: return {};
    case Runtime::megatron:
      return {.allocated = static_cast<std::int64_t>(
                  workspaces(has_layer(stage, LayerKind::moe), has_layer(stage, LayerKind::head)) +
                  dummy_wgrads(stage) + head_gradient(stage) + gather_buffer(from, stage) +
                  pipeline_buffers(from, stage.stage) + fsdp_bytes(from.plan, elements_of(stage))),
              .outside = outside_bytes(from.model, from.workload, from.plan, from.runtime)};
  }
  return {};
}

std::int64_t kept_weight_gradients(const LayerProgram& layer) {
  Shapes shapes;
  add_dummy_wgrads(layer, shapes);
  return static_cast<std::int64_t>(bytes_of_shapes(shapes) + head_gradient(layer));
}

std::int64_t least_allocated(const CompiledFrom& from, Stage stage) {
  switch (from.runtime) {
    case Runtime::pleat: return 0;
    case Runtime::megatron:
      return static_cast<std::int64_t>(workspaces(false, false) + pipeline_buffers(from, stage));
  }
  return 0;
}

// A graph of a layer's part leaves its output at a fixed place until the backward graph has run;
// eager ones drop it. Of every microbatch in flight one tensor of the width between layers for each
// captured part: the router with what is before the exchange, and attention. It is what the
// Megatron Core report finds (7 GB for DeepSeek-V3, 60 layers in flight); gradients and workspaces
// take turns. A graph of the whole iteration holds what would be allocated anyway.
GraphOutputs graph_outputs(const CompiledFrom& from) {
  if (from.runtime != Runtime::megatron || !captures_parts(from.plan.cuda_graph)) return {};
  const std::int64_t attention = captures_attention(from.plan.cuda_graph) ? 1 : 0;
  const std::int64_t router = captures_router(from.plan.cuda_graph) ? 1 : 0;
  const auto tensor = static_cast<std::int64_t>(boundary_bytes(from));
  return {.dense = attention * tensor, .moe = (attention + router) * tensor};
}

std::vector<std::int64_t> graph_outputs(const CompiledFrom& from, const StageProgram& stage) {
  if (from.runtime != Runtime::megatron || !captures_parts(from.plan.cuda_graph)) return {};
  const GraphOutputs of_layer = graph_outputs(from);
  std::vector<std::int64_t> chunks;
  for (const ChunkProgram& chunk : stage.chunks) {
    std::int64_t bytes = 0;
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      const bool moe = layer.kind == LayerKind::moe || layer.kind == LayerKind::mtp;
      if (!moe && layer.kind != LayerKind::dense) continue;
      bytes += layer.layers * (moe ? of_layer.moe : of_layer.dense);
    }
    chunks.push_back(bytes);
  }
  return chunks;
}

}  // namespace pleat
