// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One rank from its first step to its last: what its thread does.
#pragma once

#include <memory>
#include <optional>

#include "backend/execute/executor.hpp"
#include "backend/rank_report.hpp"

namespace pleat {

class RankRun {
 public:
  // The arguments must outlive it. `held_out`: of config.evaluation; null without one.
  RankRun(const Program&, const TrainConfig&, const Batches&, const Batches* held_out, Transport&);

  // Runs the steps and hands what was measured to rank 0, whose result is complete; the others'
  // has the steps. Throws what the executor and the transport throw.
  TrainResult run();

  [[nodiscard]] const RankProgress& progress() const { return progress_; }
  [[nodiscard]] Transport& transport() const { return transport_; }

 private:
  Stop run_step(int step);
  [[nodiscard]] double evaluate();
  void repeat_skipped(int step);
  [[nodiscard]] RankReport report();
  void gather();
  void add(Rank, RankReport);

  const Program& program_;
  const TrainConfig& config_;
  const Batches& batches_;
  const Batches* held_out_;
  Transport& transport_;
  RankProgress progress_;
  std::unique_ptr<Device> device_;  // before what works on it
  std::unique_ptr<RankContext> context_;
  std::unique_ptr<Communicator> world_;  // between steps, apart from the program's collectives
  std::unique_ptr<Executor> executor_;
  std::optional<StageProgram> forward_;  // where there is held-out data
  std::vector<Span> spans_;
  TrainResult result_;
  TensorCollector collector_{result_};
  int skipped_ = 0;  // steps in a row
  double margin_ = std::numeric_limits<double>::infinity();
};

}  // namespace pleat
