// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every shipped model compiles to well-formed programs that hold exactly its parameters and do its
// model FLOPs: two independent countings, one by formulas and one by operations.
#include <gtest/gtest.h>

#include <cctype>

#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/mixer_size.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

class ShippedModel : public ::testing::TestWithParam<std::string> {};

Plan plain_bf16_plan() {
  Plan p = test::fp32_plan();
  p.precision = Precision::bf16;
  return p;
}

ModelSpec without_mtp(const std::string& name) {
  ModelSpec m = load_model(name).model;
  m.mtp_layers = 0;
  return m;
}

std::int64_t parameters(const Program& program) {
  std::int64_t elements = 0;
  for (const StageProgram& stage : program.stages) {
    for (const BucketState& b : stage.buckets) elements += b.elements;
  }
  return elements;
}

TEST_P(ShippedModel, ProgramHoldsItsParameters) {
  const ModelSpec m = without_mtp(GetParam());
  const Program program =
      compile(m, {.seq_len = 256, .global_batch = 1}, plain_bf16_plan(), Runtime::megatron);
  const ParameterCount count = count_parameters(m);
  EXPECT_EQ(parameters(program), count.total);
}

TEST_P(ShippedModel, LayersAreWellFormed) {
  const ModelSpec m = load_model(GetParam()).model;
  for (const Precision precision : {Precision::bf16, Precision::mxfp8}) {
    Plan plan = plain_bf16_plan();
    plan.precision = precision;
    const Program program =
        compile(m, {.seq_len = 256, .global_batch = 1}, plan, Runtime::megatron);
    for (const LayerProgram& layer : program.stages[0].layers) {
      EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
    }
  }
}

TEST_P(ShippedModel, LayersAreWellFormedOverTp) {
  const ModelSpec m = load_model(GetParam()).model;
  Plan plan = plain_bf16_plan();
  plan.attention.tp = 2;
  const Program program = compile(m, {.seq_len = 256, .global_batch = 1}, plan, Runtime::megatron);
  for (const LayerProgram& layer : program.stages[0].layers) {
    EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
  }
}

TEST_P(ShippedModel, LayersAreWellFormedOverCp) {
  const ModelSpec m = load_model(GetParam()).model;
  Plan plan = plain_bf16_plan();
  plan.attention.cp = 2;
  plan.cp_comm = CpComm::all_gather;
  const Program program = compile(m, {.seq_len = 256, .global_batch = 1}, plan, Runtime::megatron);
  for (const LayerProgram& layer : program.stages[0].layers) {
    EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
  }
}

// Multiply-adds per token of the forward pass's matrix products, without what model FLOPs leave
// out: routers, gates of shared experts, hyper-connections, indexers of uncompressed keys.
double products(const ModelSpec& m, const Program& program, const Binding& binding,
                std::int64_t tokens) {
  const bool indexers = m.attention.kind == AttentionKind::compressed;
  const StageProgram& stage = program.stages[0];
  double work = 0;
  for (const LayerInstance& instance : stage.chunks[0].instances) {
    for (const Op& op : stage.program(instance).forward) {
      const bool matrix = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
      if (!matrix || op.module == Module::router || op.module == Module::residual) continue;
      if (op.name == "shared.gate" || (op.name.starts_with("index.") && !indexers)) continue;
      work += static_cast<double>(binding.value(op.attr.m)) *
              static_cast<double>(binding.value(op.attr.n)) *
              static_cast<double>(binding.value(op.attr.k));
    }
  }
  return work / static_cast<double>(tokens);
}

// What model FLOPs count and is no matrix product: the core (of a sequence of one token), the norms
// of latents, convolutions, and an inner width of Mamba-2 that is not 2h.
double beside_products(const ModelSpec& m) {
  double work = 0;
  for (std::int64_t l = 0; l < m.layers; ++l) {
    const LayerTraits t = m.traits(l);
    work += mixer_core(m, t, 1, FlopsConvention::megatron);
    const AttentionSpec& a = m.attention_of(t);
    if (t.mixer == Mixer::attention && a.kind == AttentionKind::mla)
      work += static_cast<double>(a.q_lora_rank + a.kv_lora_rank);
    if (!m.recurrence) continue;
    const RecurrenceSpec& r = *m.recurrence;
    if (t.mixer == Mixer::gated_delta_net || t.mixer == Mixer::kimi_delta)
      work += static_cast<double>(r.conv * (2 * r.keys() + r.values()));
    if (t.mixer == Mixer::mamba1 || t.mixer == Mixer::short_conv)
      work += static_cast<double>(r.conv * r.values());
    if (t.mixer == Mixer::mamba2)
      work += static_cast<double>(m.hidden * (6 * m.hidden - 3 * r.values()));
  }
  return work;
}

TEST_P(ShippedModel, MatrixProductsAreTheModelFlops) {
  const ModelSpec m = without_mtp(GetParam());
  const std::int64_t seq = 256;
  const Program program =
      compile(m, {.seq_len = seq, .global_batch = 1}, plain_bf16_plan(), Runtime::megatron);
  const Binding binding{.routed = m.moe ? seq * m.moe->top_k : 0};
  const double expected = model_flops_per_token(m, 1).base() / 6 - beside_products(m);
  EXPECT_NEAR(products(m, program, binding, seq), expected, 1e-9 * expected);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedModel, ::testing::ValuesIn(config_names(ConfigKind::model)),
                         test_name);

}  // namespace
}  // namespace pleat
