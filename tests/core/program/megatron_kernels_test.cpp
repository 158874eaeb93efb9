// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often the expert activation moves its operands: Pleat's kernels once, Megatron's by its
// kernels.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fused_programs.hpp"

namespace pleat {
namespace {

struct MovedTimes {  // times that operands move
  double forward = -1, backward = -1;
  double codes = -1, codes_backward = -1;  // of what quantises the result, and its gradient
  bool operator==(const MovedTimes&) const = default;
};
void PrintTo(const MovedTimes& m, std::ostream* to) {
  *to << m.forward << " " << m.backward << " " << m.codes << " " << m.codes_backward;
}

MovedTimes moved(const ModelSpec& model, Precision precision, CudaGraph graph, Runtime runtime) {
  Plan plan = test::fp32_plan();
  plan.precision = precision;
  plan.fp8_params = false;
  plan.cuda_graph = graph;
  const Program program = compile(model, {.seq_len = 32, .global_batch = 8}, plan, runtime);
  MovedTimes result;
  for (const LayerProgram& layer : program.stages[0].layers) {
    if (layer.kind != LayerKind::moe) continue;
    const auto read = [&](const std::vector<Op>& ops, const std::string& act, double& own,
                          double& codes) {
      const auto op = std::ranges::find(ops, act, &Op::name);
      ASSERT_NE(op, ops.end()) << act;
      own = op->attr.passes;
      for (const Op& other : ops) {
        if (other.kind == OpKind::quantize && other.in.front() == op->out.front()) {
          codes = other.attr.passes;
        }
      }
    };
    read(layer.forward, "experts.act", result.forward, result.codes);
    read(layer.backward, "experts.act.bwd", result.backward, result.codes_backward);
  }
  return result;
}

TEST(MegatronKernels, OneGraphInNarrowNumbersMakesCodesInTheProducts) {
  const ModelSpec model = test::in_blocks(test::small_moe());
  const auto with = [&](Precision p, CudaGraph graph) {
    return moved(model, p, graph, Runtime::megatron);
  };
  EXPECT_EQ(with(Precision::mxfp8, CudaGraph::full_iteration), (MovedTimes{0, 0, 0, 0}));
  EXPECT_EQ(with(Precision::nvfp4, CudaGraph::full_iteration), (MovedTimes{0, 0, 0, 0}));
  EXPECT_EQ(with(Precision::nvfp4, CudaGraph::partial), (MovedTimes{1, 1, 1, 1}));
  EXPECT_EQ(with(Precision::bf16, CudaGraph::full_iteration), (MovedTimes{1, 1, -1, -1}));
}

// What no kernel of Pleat's does is not left out of the price.
TEST(MegatronKernels, PleatMovesWhatItsKernelsDo) {
  const ModelSpec model = test::in_blocks(test::small_moe());
  for (const CudaGraph graph : {CudaGraph::none, CudaGraph::full_iteration}) {
    const auto with = [&](Precision p) { return moved(model, p, graph, Runtime::pleat); };
    EXPECT_EQ(with(Precision::nvfp4), (MovedTimes{1, 1, 1, 1}));
    EXPECT_EQ(with(Precision::mxfp8), (MovedTimes{1, 1, -1, 1}));  // makes its codes itself
    EXPECT_EQ(with(Precision::bf16), (MovedTimes{1, 1, -1, -1}));
  }
}

TEST(MegatronKernels, BiasesOfExpertsAreChainsOrPassesOfTheirOwn) {
  ModelSpec model = test::in_blocks(test::small_moe());  // hidden h, experts of 2 h
  model.moe->mlp_bias = true;
  const auto with = [&](CudaGraph graph, Runtime runtime) {
    return moved(model, Precision::bf16, graph, runtime);
  };
  EXPECT_EQ(with(CudaGraph::none, Runtime::megatron), (MovedTimes{12, 11.5}));
  EXPECT_EQ(with(CudaGraph::full_iteration, Runtime::megatron), (MovedTimes{7, 3.9}));
  // Of u, 4 h wide, a and y: SwiGLU moves 6 h, biases are added to u and y (5 h there and back);
  // its gradient moves 10 h, biases' gradients read du and twice dy.
  const MovedTimes pleat{1 + 10.0 / 6, 1 + 6.0 / 10};
  EXPECT_EQ(with(CudaGraph::none, Runtime::pleat), pleat);
  EXPECT_EQ(with(CudaGraph::full_iteration, Runtime::pleat), pleat);
}

}  // namespace
}  // namespace pleat
