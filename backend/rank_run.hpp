// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One rank from its first step to its last: what its thread does.
#pragma once

#include <memory>

#include "backend/executor.hpp"
#include "backend/rank_report.hpp"

namespace pleat {

class RankRun {
 public:
  // The arguments must outlive it.
  RankRun(const Program&, const TrainConfig&, const Batches&, Transport&);

  // Runs the steps and hands what was measured to rank 0, whose result is complete; the others'
  // has the steps. Throws what the executor and the transport throw.
  TrainResult run();

  [[nodiscard]] const RankProgress& progress() const { return progress_; }
  [[nodiscard]] Transport& transport() const { return transport_; }

 private:
  Stop run_step(int step);
  void repeat_skipped(int step);
  [[nodiscard]] RankReport report();
  void gather();
  void add(Rank, RankReport);

  const Program& program_;
  const TrainConfig& config_;
  const Batches& batches_;
  Transport& transport_;
  RankProgress progress_;
  std::unique_ptr<RankContext> context_;
  std::unique_ptr<Communicator> world_;  // between steps, apart from the program's collectives
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<Executor> executor_;
  std::vector<Span> spans_;
  TrainResult result_;
  int skipped_ = 0;  // steps in a row
  double margin_ = std::numeric_limits<double>::infinity();
};

}  // namespace pleat
