// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A program and changed copies of it: does the estimate change, and does execution fail or compute
// something else?
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/trainer.hpp"
#include "core/program/step_walk.hpp"
#include "simulator/estimate.hpp"
#include "tests/support/small_models.hpp"

namespace pleat::test {

struct Observation {
  Seconds step;
  std::int64_t peak = 0;
  bool operator==(const Observation&) const = default;
};

class Mutation : public testing::Test {
 protected:
  Mutation() : Mutation(small_moe(), small_workload(), fp32_plan(2, 2, 2)) {}
  Mutation(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan)
      : program_(compile(model, workload, plan, Runtime::pleat)) {
    cluster_.gpu.peak_fp32 = FlopsPerSecond(1e11);
    cluster_.gpu.memory_bandwidth = BytesPerSecond(1e10);
    cluster_.gpu.memory = Bytes(1e9);
    cluster_.tiers = {{"memory", 0, BytesPerSecond(1e9), Seconds(1e-6)}};
    profile_ = datasheet_profile("test", 1, Runtime::pleat);
    reference_ = execute(program_);
    before_ = observe(program_);
  }

  TrainResult execute(const Program& program) const {
    TrainConfig config;
    config.steps = 2;  // the second step sees what the first one's optimizer did
    config.adamw.lr = 1e-2;
    config.keep_gradients = true;
    config.poison = true;
    config.stall_seconds = 0.4;
    for (int i = 0; i < 4096; ++i)
      config.text.push_back(static_cast<std::uint8_t>((i * 37 + i / 11) % 64));
    return train(program, config);
  }

  // Summed over stages, so that a mutation of any stage shows.
  Observation observe(const Program& program) const {
    Observation o;
    const std::int64_t routed =
        balanced_routed_tokens(program.model, program.workload, program.plan);
    for (const StageProgram& stage : program.stages) {
      o.peak += live_byte_moments(stage, routed);
    }
    const StepEstimate e = estimate(program, cluster_, profile_);
    for (const StageTime& s : e.stages) o.step += s.busy + s.bubble;
    for (const StageTime& s : e.stages) o.step += s.busy * 0.25;
    return o;
  }

  // Sum of live bytes over all moments of the step: unlike the peak it sees every lifetime.
  static std::int64_t live_byte_moments(const StageProgram& stage, std::int64_t routed) {
    struct Sum : StepVisitor {
      Binding binding;
      std::int64_t live = 0, sum = 0;
      void on_birth(const OpSite&, const InstanceKey&, const Tensor& t) override {
        live += t.bytes(binding);
      }
      void on_op(const OpSite&) override { sum += live; }
      void on_death(const OpSite&, const InstanceKey&, const Tensor& t) override {
        live -= t.bytes(binding);
      }
    } sum;
    sum.binding.routed = routed;
    walk_step(stage, sum);
    return sum.sum;
  }

  // Step lifetimes count operations: those after a deleted one move up.
  static void renumber(std::vector<StepLifetime>& lives, int deleted) {
    for (StepLifetime& life : lives) {
      if (life.begin > deleted) --life.begin;
      if (life.end >= deleted) --life.end;
    }
  }

  // Fails, or computes other numbers.
  bool noticed(const Program& mutant) const {
    TrainResult result;
    try {
      result = execute(mutant);
    } catch (const std::exception&) {
      return true;
    }
    for (std::size_t i = 0; i < reference_.steps.size(); ++i) {
      const StepRecord &a = reference_.steps[i], &b = result.steps[i];
      if (!(a.loss == b.loss) || !(a.grad_norm == b.grad_norm)) return true;
    }
    return result.weights != reference_.weights || result.gradients != reference_.gradients;
  }

  // Deletes each operation of every layer in turn; returns how many.
  int delete_every_operation() const {
    int mutants = 0;
    for (std::size_t s = 0; s < program_.stages.size(); ++s) {
      for (std::size_t l = 0; l < program_.stages[s].layers.size(); ++l) {
        for (Pass pass : {Pass::forward, Pass::backward}) {
          const std::size_t count = program_.stages[s].layers[l]->ops(pass).size();
          for (std::size_t i = 0; i < count; ++i) {
            Program mutant = program_;
            LayerProgram& layer = mutant.stages[s].layers[l].own();
            auto& ops = pass == Pass::forward ? layer.forward : layer.backward;
            const std::string name = ops[i].name + " of stage " + std::to_string(s) +
                                     " layer kind " + std::to_string(static_cast<int>(layer.kind));
            ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
            compute_lifetimes(layer);
            ++mutants;
            EXPECT_TRUE(noticed(mutant)) << "execution without " << name;
            EXPECT_NE(observe(mutant), before_) << "estimate without " << name;
          }
        }
      }
    }
    return mutants;
  }

  Program program_;
  ClusterSpec cluster_;
  Profile profile_;
  TrainResult reference_;
  Observation before_;
};

}  // namespace pleat::test
