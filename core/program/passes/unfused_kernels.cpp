// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Counted in the PyTorch code that runs where a fusion is off (Megatron-LM 00611e6eeb,
// core/transformer/moe/moe_utils.py: permute, unpermute, sort_chunks_by_idxs,
// topk_routing_with_score_function, switch_load_balancing_loss_func). Views launch nothing.
#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

// Beside the gather of rows: the map transposed, sorted (4), the remainder, probabilities
// transposed and picked. Backward: gradients zeroed, of probabilities zeroed, sorted (4) and put in
// place.
constexpr std::int64_t kPermute = 8, kPermuteBackward = 7;
// Beside the sum over copies: its result is zeroed. Its backward is a gather.
constexpr std::int64_t kUnpermute = 1;
// torch.cat joins so many chunks a launch.
constexpr std::int64_t kChunksOfLaunch = 128;

// Rows are gathered and written; the kernel it stands for reads each token once.
double gathering(double copies) { return 2 * copies / (1 + copies); }
// The result is zeroed, each copy read, and read and written once more where it is added.
double adding(double copies) { return (1 + 3 * copies) / (1 + copies); }

enum class Moves : std::uint8_t { nothing, gather, gather_backward, sum, sum_backward, chunks };

// DeepEP's rows come by source: what sorts them by expert is a permutation, probabilities with it.
Moves moves_of(const Op& op, const LayerProgram& layer, bool by_source) {
  const bool forward = op.phase != Phase::backward;
  switch (op.kind) {
    case OpKind::permute: return Moves::gather;
    case OpKind::permute_bwd: return Moves::gather_backward;
    case OpKind::unpermute: return Moves::sum;
    case OpKind::unpermute_bwd: return Moves::sum_backward;
    case OpKind::sort_chunks:
    case OpKind::unsort_chunks: {
      if (!by_source) return Moves::chunks;
      if (layer.tensor(op.out.front()).shape.size() < 2) return Moves::nothing;
      if (op.kind == OpKind::sort_chunks) return forward ? Moves::gather : Moves::sum_backward;
      return forward ? Moves::sum : Moves::gather_backward;
    }
    default: return Moves::nothing;
  }
}

void unfuse_permutation(Op& op, Moves moves, double copies) {
  switch (moves) {
    case Moves::nothing: return;
    case Moves::gather:
      op.attr.passes *= gathering(copies);
      op.attr.unfused_kernels += kPermute;
      return;
    case Moves::gather_backward:
      op.attr.passes *= adding(copies);
      op.attr.unfused_kernels += kPermuteBackward;
      return;
    case Moves::sum:
      op.attr.passes *= adding(copies);
      op.attr.unfused_kernels += kUnpermute;
      return;
    case Moves::sum_backward: op.attr.passes *= gathering(copies); return;
    case Moves::chunks:
      op.attr.unfused_kernels += (op.attr.experts - 1) / kChunksOfLaunch;
      return;
  }
}

// top-k (2), softmax, the type, and probabilities and map, each zeroed and scattered, the map with
// two conversions: 10 less the one kernel that counts anyway.
constexpr std::int64_t kTopKKernels = 9;
// Sum, division and scale in place of the softmax.
constexpr std::int64_t kSigmoidKernels = 4;
// Its sum with the scores, and the scores of the chosen.
constexpr std::int64_t kBiasKernels = 2;
// Best of a group (2) and their sum, best groups (2), their mask zeroed and scattered, spread,
// converted, inverted, applied.
constexpr std::int64_t kGroupKernels = 11;
// Scores and map once more, three kernels of the loss: the router_losses of a program.
constexpr std::int64_t kLossKernels = 14;

std::int64_t kernels_of_router(const MoeSpec& moe) {
  return kTopKKernels + (moe.score == RouterScore::softmax ? 0 : kSigmoidKernels) +
         (moe.expert_bias ? kBiasKernels : 0) + (moe.groups > 1 ? kGroupKernels : 0);
}

// Backward there is a kernel for each of the chain that passes a gradient on: about half of them.
void unfuse_router(Op& op, const MoeSpec& moe) {
  switch (op.kind) {
    case OpKind::router_topk: op.attr.unfused_kernels += kernels_of_router(moe); return;
    case OpKind::router_topk_bwd: op.attr.unfused_kernels += kernels_of_router(moe) / 2; return;
    case OpKind::router_losses: op.attr.unfused_kernels += kLossKernels; return;
    case OpKind::router_losses_bwd: op.attr.unfused_kernels += kLossKernels / 2; return;
    default: return;
  }
}

// One kernel for the scales of each copy, of each expert's rows by themselves.
void zero_scales(Op& op) {
  if (family_of(op.kind) != OpKind::quantize) return;
  const auto copies = static_cast<std::int64_t>(op.out.size());
  op.attr.unfused_kernels += copies * std::max<std::int64_t>(1, op.attr.local_experts);
}

// Products on Blackwell read scales in an order of their own, and bring both operands' to it
// (TransformerEngine, pytorch/csrc/extensions/gemm.cpp), those of all experts together.
void order_scales(Op& op) {
  const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
  const bool ordered = op.attr.math == DType::mxfp8 || op.attr.math == DType::nvfp4;
  if (product && ordered) op.attr.unfused_kernels += 2;
}

bool has_scales(Precision p) {
  return p == Precision::fp8_block || p == Precision::mxfp8 || p == Precision::nvfp4;
}

}  // namespace

void set_unfused_kernels(LayerProgram& layer, const ModelSpec& model, const Plan& plan) {
  // HybridEP brings rows to their order by kernels of its own.
  const bool permutes = plan.fusions.permute || plan.dispatcher == Dispatcher::hybridep;
  // What DeepEP brings has one copy of a token, for each of the rank's experts that it chose.
  const bool by_source = is_fused(plan.dispatcher) && plan.expert.ep > 1;
  const double copies =
      model.moe && !by_source ? static_cast<double>(model.moe->top_k) : 1.0;
  for (auto* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      if (!permutes) unfuse_permutation(op, moves_of(op, layer, by_source), copies);
      if (model.moe && !plan.fusions.router) unfuse_router(op, *model.moe);
      if (has_scales(plan.precision) && !plan.fusions.scale_init) zero_scales(op);
      if (!plan.fusions.scale_order) order_scales(op);
    }
  }
}

}  // namespace pleat
