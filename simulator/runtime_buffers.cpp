// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Buffers a runtime holds beside the program's tensors.
#include <set>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kCudaContext = 0.9 * kGiB;       // context and modules
constexpr double kCommunicator = 0.39 * kGiB;     // NCCL ring buffers of one communicator
constexpr double kTorchWorkspaces = 0.1 * kGiB;   // cuBLAS, TransformerEngine

// Communicators Megatron creates that have more than one member.
int communicators(const Plan& plan) {
  int count = plan.world() > 1 ? 1 : 0;
  for (Group g : {Group::tp, Group::cp, Group::dp_cp, Group::ep, Group::etp, Group::edp,
                  Group::pp_next, Group::embedding}) {
    if (group_size(plan, g) > 1) ++count;
  }
  if (group_size(plan, Group::cp) > 1 && group_size(plan, Group::dp) > 1)
    ++count;  // dp beside dp_cp
  return count;
}

// TransformerEngine keeps one bf16 gradient of every distinct local weight shape when gradients are
// accumulated into main_grad (TE module/base.py get_dummy_wgrad).
double dummy_wgrads(const StageProgram& stage) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const LayerProgram& layer : stage.layers) {
    if (layer.kind == LayerKind::embedding || layer.kind == LayerKind::head) continue;
    for (const Weight& w : layer.weights) {
      const Tensor& t = layer.tensor(w.weight);
      if (t.shape.size() < 2) continue;
      shapes.insert({t.shape[t.shape.size() - 2].n, t.shape.back().n});
    }
  }
  double bytes = 0;
  for (const auto& [rows, columns] : shapes) {
    bytes += 2.0 * static_cast<double>(rows) * static_cast<double>(columns);
  }
  return bytes;
}

// HybridEP registers one receive buffer for the worst routing: every rank's tokens.
double hybridep_buffer(const Program& program) {
  if (program.plan.dispatcher != Dispatcher::hybridep || program.plan.expert.ep <= 1) return 0;
  const AttentionMapping& a = program.plan.attention;
  const double tokens = static_cast<double>(program.workload.seq_len) * program.plan.micro_batch /
                        (a.cp * (program.plan.sequence_parallel ? a.tp : 1));
  return tokens * program.plan.expert.ep * static_cast<double>(program.model.hidden) * 2.0;
}

}  // namespace

std::int64_t runtime_buffer_bytes(const Program& program, const StageProgram& stage) {
  switch (program.runtime) {
    case Runtime::pleat: return 0;
    case Runtime::megatron:
      return static_cast<std::int64_t>(kCudaContext + kTorchWorkspaces +
                                       kCommunicator * communicators(program.plan) +
                                       dummy_wgrads(stage) + hybridep_buffer(program));
  }
  return 0;
}

}  // namespace pleat
