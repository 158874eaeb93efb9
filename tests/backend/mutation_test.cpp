// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The promise of one program with two interpreters: delete any operation, collective or lifetime
// and the estimate changes, and execution fails or computes something else.
#include "tests/backend/mutation.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::Mutation;
using test::small_mla;

TEST_F(Mutation, TheProgramItselfIsReproducible) {
  EXPECT_FALSE(noticed(program_));
  EXPECT_EQ(observe(program_), before_);
}

TEST_F(Mutation, DeletingAnyOperationOrCollectiveIsNoticedByBoth) {
  EXPECT_GT(delete_every_operation(), 150);
}

// Heads exchanged, keys gathered, weights and gradients in shards.
class MutationOfShares : public Mutation {
 protected:
  MutationOfShares() : Mutation(small_mla(), {.seq_len = 16, .global_batch = 2}, plan()) {}
  static Plan plan() {
    Plan p = fp32_plan();
    p.attention.cp = 4;
    p.expert.ep = 2;
    p.expert.edp = 2;
    p.cp_comm = CpComm::a2a_p2p;
    p.cp_a2a = 2;
    p.sharding = Sharding::zero3;
    return p;
  }
};

TEST_F(MutationOfShares, DeletingAnyOperationOrCollectiveIsNoticedByBoth) {
  EXPECT_FALSE(noticed(program_));
  EXPECT_GT(delete_every_operation(), 150);
}

TEST_F(Mutation, DeletingAnyStepOperationIsNoticedByBoth) {
  for (std::size_t s = 0; s < program_.stages.size(); ++s) {
    for (auto list : {&StageProgram::prologue, &StageProgram::epilogue}) {
      for (std::size_t i = 0; i < (program_.stages[s].*list).size(); ++i) {
        Program mutant = program_;
        auto& ops = mutant.stages[s].*list;
        const std::string name = ops[i].name + " of stage " + std::to_string(s);
        // Only the last stage has a loss to zero.
        if (name.starts_with("zero.loss") && s + 1 < program_.stages.size()) continue;
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
        if (list == &StageProgram::epilogue)
          renumber(mutant.stages[s].step_lives, static_cast<int>(i));
        EXPECT_TRUE(noticed(mutant)) << "execution without " << name;
        EXPECT_NE(observe(mutant).step, before_.step) << "estimate without " << name;
      }
    }
  }
}

// Optimizers of several operations. What a cluster without bf16 peaks and host links has to pay is
// not asked for.
class MutationOfOptimizers : public test::Mutation {
 protected:
  int delete_every_step_operation(const OptimizerPlan& optimizer) {
    Plan plan = test::tp_plan(2, 2, 2);
    plan.optimizer = optimizer;
    ModelSpec model = test::small_moe();
    model.moe->experts = 6;  // so that shards cut matrices
    program_ = compile(model, test::small_workload(), plan, Runtime::pleat);
    reference_ = execute(program_);
    EXPECT_FALSE(noticed(program_));
    int mutants = 0;
    for (std::size_t i = 0; i < program_.stages[0].epilogue.size(); ++i) {
      const Op& op = program_.stages[0].epilogue[i];
      if (op.module != Module::optimizer && op.name.find("momentum") == std::string::npos) continue;
      Program mutant = program_;
      const std::string name = op.name;
      mutant.stages[0].epilogue.erase(mutant.stages[0].epilogue.begin() +
                                      static_cast<std::ptrdiff_t>(i));
      renumber(mutant.stages[0].step_lives, static_cast<int>(i));
      EXPECT_TRUE(noticed(mutant)) << "execution without " << name;
      ++mutants;
    }
    return mutants;
  }
};

TEST_F(MutationOfOptimizers, DeletingAnyStepOperationIsNoticed) {
  OptimizerPlan optimizer;
  optimizer.kind = OptimizerKind::muon;
  EXPECT_GT(delete_every_step_operation(optimizer), 30);
  optimizer.kind = OptimizerKind::lamb;
  EXPECT_GT(delete_every_step_operation(optimizer), 9);
  optimizer.kind = OptimizerKind::adamw;
  optimizer.state_offload = 0.4;
  optimizer.cpu_offload = 0.3;
  EXPECT_GT(delete_every_step_operation(optimizer), 16);
}

TEST_F(Mutation, DeletingAnyLifetimeIsNoticedByBoth) {
  int mutants = 0;
  for (std::size_t s = 0; s < program_.stages.size(); ++s) {
    for (std::size_t l = 0; l < program_.stages[s].layers.size(); ++l) {
      for (std::size_t i = 0; i < program_.stages[s].layers[l]->lives.size(); ++i) {
        Program mutant = program_;
        LayerProgram& layer = mutant.stages[s].layers[l].own();
        const std::string name = layer.tensor(layer.lives[i].tensor).name;
        layer.lives.erase(layer.lives.begin() + static_cast<std::ptrdiff_t>(i));
        ++mutants;
        EXPECT_TRUE(noticed(mutant)) << "execution without the lifetime of " << name;
        EXPECT_NE(observe(mutant).peak, before_.peak) << "memory without the lifetime of " << name;
      }
    }
  }
  EXPECT_GT(mutants, 100);
}

}  // namespace
}  // namespace pleat
