// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of layer passes. A technique is a pass: `compile_layer` builds the plain layer, then
// runs these in order. What follows for a whole step (buckets, gradient sync, optimizer) is in
// core/program/compile.cpp.
#include "core/program/passes/layer_passes.hpp"

#include "core/program/passes/offload.hpp"
#include "core/program/passes/pair.hpp"
#include "core/program/passes/quantize_fusion.hpp"
#include "core/program/passes/recompute.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/program/stage_composition.hpp"

namespace pleat {
namespace {

struct PassInput {
  const LocalShape& shape;
  const Plan& plan;
  Runtime runtime;
  const LayerVariant& variant;
};

// Whose dialect has the pass.
enum class Dialect : std::uint8_t { every, pleat, megatron };

struct LayerPass {
  Dialect dialect;
  void (*run)(LayerProgram&, const PassInput&);
};

// On every layer of a unit of recompute by itself.
constexpr LayerPass kSingleLayerPasses[] = {
    {Dialect::megatron,
     [](LayerProgram& l, const PassInput& in) {
       set_megatron_kernels(l, in.shape.model, in.plan);
     }},
    {Dialect::megatron,
     [](LayerProgram& l, const PassInput& in) { add_megatron_buffers(l, in.plan); }},
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) { apply_precision(l, in.plan, in.runtime); }},
    {Dialect::megatron,
     [](LayerProgram& l, const PassInput& in) {
       set_unfused_kernels(l, in.shape.model, in.plan);
     }},
    {Dialect::pleat, [](LayerProgram& l, const PassInput& in) { apply_ring(l, in.plan); }},
    {Dialect::pleat,
     [](LayerProgram& l, const PassInput& in) { apply_token_exchange(l, in.plan); }},
};

// On the layers of a unit together.
constexpr LayerPass kLayerPasses[] = {
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) {
       if (in.variant.recompute) apply_recompute(l, in.plan, in.runtime);
     }},
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) { apply_narrow_exchange(l, in.plan); }},
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) { apply_offload(l, in.plan, in.variant.offload); }},
    {Dialect::pleat, [](LayerProgram& l, const PassInput&) { write_gradients(l); }},
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) { apply_sharding(l, in.plan, in.runtime); }},
    {Dialect::megatron, [](LayerProgram& l, const PassInput& in) { apply_overlap(l, in.plan); }},
    {Dialect::pleat, [](LayerProgram& l, const PassInput& in) { fuse_quantization(l, in.plan); }},
    {Dialect::pleat,
     [](LayerProgram& l, const PassInput& in) {
       if (in.plan.overlap.delay_wgrad) delay_weight_gradients(l);
     }},
    {Dialect::every,
     [](LayerProgram& l, const PassInput& in) {
       if (splits_backward(in.plan.schedule)) split_backward(l);
     }},
};

template <std::size_t N>
void run_passes(const LayerPass (&passes)[N], LayerProgram& layer, const PassInput& in) {
  const Dialect own = in.runtime == Runtime::megatron ? Dialect::megatron : Dialect::pleat;
  for (const LayerPass& pass : passes) {
    if (pass.dialect == Dialect::every || pass.dialect == own) pass.run(layer, in);
  }
}

LayerProgram plain_layer(const LocalShape& shape, const LayerVariant& v, Runtime runtime) {
  const std::int64_t rows = v.wide ? 1 + shape.model.mtp_layers : 1;
  switch (v.kind) {
    case LayerKind::embedding:
      return build_embedding_layer(shape);
    case LayerKind::dense:
      return build_decoder_layer(shape, false, v.traits);
    case LayerKind::moe:
      return build_decoder_layer(shape, true, v.traits);
    case LayerKind::mtp:
      return build_mtp_layer(shape, v.moe, runtime, v.depth);
    case LayerKind::head:
      return build_head_layer(shape, v.wide);
    case LayerKind::recv:
      return build_recv_layer(shape, rows);
    case LayerKind::send:
      return build_send_layer(shape, rows);
  }
  PLEAT_ASSERT(!"unreachable");
  return {};
}

}  // namespace

LayerProgram compile_layer(const LocalShape& shape, Runtime runtime, const LayerVariant& variant) {
  const PassInput in{shape, shape.plan, runtime, variant};
  std::vector<LayerProgram> unit;
  unit.push_back(plain_layer(shape, variant, runtime));
  for (const UnitLayer& next : variant.more) {
    unit.push_back(build_decoder_layer(shape, next.moe, next.traits));
  }
  for (LayerProgram& layer : unit) run_passes(kSingleLayerPasses, layer, in);
  LayerProgram layer = merge_layers(std::move(unit));
  run_passes(kLayerPasses, layer, in);
  compute_lifetimes(layer);
  layer.loads = loads_of(variant);
  return layer;
}

}  // namespace pleat
