// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The half of a layer that the scopes of CUDA graphs call attention is one piece: of every shipped
// model the first operations forward and the last ones backward.
#include "core/program/graph_scope.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

Op made_op(Module module, const std::string& name) {
  Op op;
  op.module = module;
  op.name = name;
  return op;
}

// What surrounds the halves: exchanges of weights and gradients, what predicts further tokens.
bool is_of_no_half(const Op& op) {
  return op.module == Module::grad_sync || op.module == Module::head ||
         op.module == Module::embedding || op.name.starts_with("mtp.") ||
         op.name.starts_with("final_norm");
}

// How many operations the half has.
std::ptrdiff_t expect_one_piece(const LayerProgram& layer, Pass pass) {
  std::vector<char> inside;
  for (const Op& op : layer.ops(pass)) {
    if (!is_of_no_half(op)) inside.push_back(is_of_attention(op));
  }
  if (pass == Pass::backward) std::ranges::reverse(inside);
  EXPECT_TRUE(std::ranges::is_partitioned(inside, [](char in) { return in != 0; }));
  return std::ranges::count(inside, 1);
}

class ScopesOf : public ::testing::TestWithParam<std::string> {};

TEST_P(ScopesOf, AttentionIsAHalf) {
  const ModelSpec model = load_model(GetParam()).model;
  std::ptrdiff_t most = 0;
  for (const int tp : {1, 2}) {
    for (const Precision precision : {Precision::bf16, Precision::fp8}) {
      Plan plan = test::tp_plan(tp);
      plan.precision = precision;
      const Program program =
          compile(model, {.seq_len = 256, .global_batch = 1}, plan, Runtime::megatron);
      for (const LayerProgram& layer : program.stages[0].layers) {
        if (layer.kind != LayerKind::dense && layer.kind != LayerKind::moe &&
            layer.kind != LayerKind::mtp) {
          for (const Op& op : layer.forward) EXPECT_FALSE(is_of_attention(op)) << op.name;
          continue;
        }
        SCOPED_TRACE(
            fmt::format("{} TP {} kind {}", name_of(precision), tp, static_cast<int>(layer.kind)));
        for (const Pass pass : {Pass::forward, Pass::backward}) {
          const std::ptrdiff_t ops = expect_one_piece(layer, pass);
          EXPECT_TRUE(ops == 0 || ops > 4) << ops;  // a layer may be its other half alone
          most = std::max(most, ops);
        }
      }
    }
  }
  EXPECT_GT(most, 4);
}

INSTANTIATE_TEST_SUITE_P(Shipped, ScopesOf, ::testing::ValuesIn(config_names(ConfigKind::model)),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(GraphScope, HoldsModules) {
  const Op core = made_op(Module::core_attn, "attn"), norm = made_op(Module::layernorm, "mlp_norm"),
           top = made_op(Module::router, "topk"), row = made_op(Module::dispatch, "permute");
  const auto held = [&](CudaGraph scope) {
    std::string names;
    for (const Op* op : {&core, &norm, &top, &row}) {
      if (is_in_scope(scope, *op)) names += op->name + " ";
    }
    return names;
  };
  EXPECT_EQ(held(CudaGraph::none), "");
  EXPECT_EQ(held(CudaGraph::attention), "attn ");
  EXPECT_EQ(held(CudaGraph::router), "topk ");
  EXPECT_EQ(held(CudaGraph::partial), "attn mlp_norm topk ");
  EXPECT_EQ(held(CudaGraph::full_iteration), "attn mlp_norm topk permute ");
}

// Of two scopes neither of which holds the other.
TEST(GraphScope, TheLeastThatHoldsBoth) {
  EXPECT_EQ(both_of(CudaGraph::attention, CudaGraph::router), CudaGraph::partial);
  EXPECT_EQ(both_of(CudaGraph::router, CudaGraph::attention), CudaGraph::partial);
  EXPECT_EQ(both_of(CudaGraph::none, CudaGraph::attention), CudaGraph::attention);
  EXPECT_EQ(both_of(CudaGraph::attention, CudaGraph::attention), CudaGraph::attention);
  EXPECT_EQ(both_of(CudaGraph::partial, CudaGraph::router), CudaGraph::partial);
  EXPECT_EQ(both_of(CudaGraph::full_iteration, CudaGraph::attention), CudaGraph::full_iteration);
}

}  // namespace
}  // namespace pleat
