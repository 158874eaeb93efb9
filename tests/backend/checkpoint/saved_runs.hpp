// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Short runs that save and go on from checkpoints, in one process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/checkpoint/saver.hpp"
#include "backend/checkpoint/shard_reader.hpp"
#include "core/plan/plan_document.hpp"
#include "tests/backend/checkpoint/temporary_folder.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat::test {

struct SavedRun {
  ModelSpec model = small_moe();
  Plan plan = fp32_plan();
  int steps = 4;
  std::string save = {}, load = {};  // folders; empty: none
  int every = 0, keep = 10, max_failures = 3;
  bool background = false;
  TrainConfig config = small_config();
  std::vector<std::string> messages = {};
  WorkloadSpec workload = small_workload();

  TrainResult run() {
    const Program program = compile(model, workload, plan, Runtime::pleat);
    config.steps = steps;
    const TrainingState state{0,           0,     0, workload.seq_len, workload.global_batch,
                              config.seed, "data"};
    const auto say = [this](const std::string& text) { messages.push_back(text); };
    PlanDocument document;
    document.model_name = model.name;
    document.model = model;
    document.workload = program.workload;
    document.cluster = "localhost";
    document.gpus = plan.world();
    document.runtime = Runtime::pleat;
    document.plan = plan;
    const SaveConfig saving{
        save, every, keep, background, max_failures, write_plan_document(document), state, say};
    const RestoreConfig restoring{load, false, state, model, say};
    std::vector<std::unique_ptr<Saver>> savers;
    for (int r = 0; r < plan.world(); ++r) savers.push_back(std::make_unique<Saver>(saving));
    if (!save.empty()) {
      config.after_step = [&](const StepBoundary& b) {
        savers[static_cast<std::size_t>(b.context.rank().value)]->after_step(b,
                                                                             b.next_step == steps);
      };
    }
    if (!load.empty()) {
      config.before_first_step = [&](const StepBoundary& b) { return restore(b, restoring); };
    }
    return train(program, config);
  }
};

// Whole tensors of a checkpoint, state included, by name.
inline Tensors tensors_in(const std::string& checkpoint) {
  const Manifest manifest = open_checkpoint(checkpoint);
  Tensors tensors;
  ShardReader reader(checkpoint, manifest);
  for (const auto& [name, saved] : manifest.tensors) {
    std::vector<float>& values = tensors[name];
    values.resize(static_cast<std::size_t>(saved.elements));
    reader.read({name,
                 ElementType::f32,
                 saved.elements,
                 {{0, saved.elements, reinterpret_cast<std::byte*>(values.data())}}},
                name);
  }
  return tensors;
}

}  // namespace pleat::test
