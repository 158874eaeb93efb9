// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The passes over one layer, each with its technique's file. layer_passes.cpp runs them in order;
// what others ask of a pass, too, has a header of its own (recompute, offload, quantize_fusion,
// pair). Builders make the plain layer, with one kernel for each operation.
#pragma once

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

// --- number formats
// Inputs of products are quantised to a narrow type, in both layouts that the three products of a
// linear layer need. What is saved for the weight gradient is the narrow copy.
void apply_precision(LayerProgram&, const Plan&, Runtime);
// Experts' rows that travel in fp8 (DeepSeek-V3 arXiv:2412.19437, MegaScale-MoE arXiv:2505.11432).
// Marks exchanges of rows to the experts and back, where the plan narrows them, in both passes, and
// adds their conversions: tokens before they are copied, rows where they arrive. What experts that
// compute in 8 bits receive they need not convert again; what comes back is widened by the sum over
// the copies.
void apply_narrow_exchange(LayerProgram&, const Plan&);

// --- exchanges
// Context parallelism by p2p: instead of gathering all keys and values, ranks pass them around a
// ring and attend to one piece at a time. Backward, the gradients of a piece travel with it, and
// home at the end (Ring Attention, arXiv:2310.01889). At most two pieces of each are alive. Turns
// gathers of keys and values over the plan's ring into steps, where the plan has one.
void apply_ring(LayerProgram&, const Plan&);
// DeepEP and HybridEP send tokens as they are, and tile-level kernels that gather tokens pick those
// of the local experts. So these exchanges read the router's choice, to know which copies there are
// of a token; the backward pass keeps it for them.
void apply_token_exchange(LayerProgram&, const Plan&);
// Exchanges that Megatron runs beside compute of the same layer: of tensor and context parallelism,
// and the shared expert beside the token exchange (docs/MODEL.md section 5). They move to the
// communication stream, those in pieces are marked, and the shared expert's operations go behind
// the exchanges that they run beside. Exchanges beside another microbatch are the pair pass;
// gradients and parameters are of the whole step.
void apply_overlap(LayerProgram&, const Plan&);
// Gradients that one product of a layer makes are written by it in the first microbatch of a step,
// so that nothing has to clear them: marks products and weights. Those of norms, biases, sinks and
// tables are sums of several kernels or rows: they stay cleared and added to.
void write_gradients(LayerProgram&);
// Sharded gradients (ZeRO-2) and weights (ZeRO-3, FSDP): a layer's weights are gathered before each
// of its passes, its gradients reduced and scattered after the backward pass, over dp x cp for
// dense weights and over edp for experts. These run beside compute, a layer ahead or behind, where
// the plan overlaps gradients and parameters. Megatron's FSDP gathers what is in no layer (tables,
// head) once a pass forward and keeps it (simulator/runtime_buffers.cpp counts it).
void apply_sharding(LayerProgram&, const Plan&, Runtime);

// --- order
// For orders of the pipeline that defer weight gradients (docs/MODEL.md section 4): moves what only
// weight gradients need behind the rest of the backward list, each part in its own order, and sets
// LayerProgram::weight_ops. Tensors that it reads live until then.
void split_backward(LayerProgram&);

// --- Megatron and TransformerEngine
// How often the kernels of the expert activation move its operands (docs/MODEL.md section 7.3).
// Before apply_precision, which asks what a fused kernel makes (`passes` 0).
void set_megatron_kernels(LayerProgram&, const ModelSpec&, const Plan&);
// Operations that several kernels make because the plan has a fusion off: how often they move their
// operands and how many kernels they launch (docs/MODEL.md section 7.5). After apply_precision, for
// its quantisations.
void set_unfused_kernels(LayerProgram&, const ModelSpec&, const Plan&);
// Tensors that are held beside those of the mathematics. They live where autograd keeps them, and
// nothing is computed with them (docs/MODEL.md section 3).
void add_megatron_buffers(LayerProgram&, const Plan&);

}  // namespace pleat
