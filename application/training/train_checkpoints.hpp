// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checkpoints of `pleat train`: saving, also when SIGTERM ends the run, and going on from one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/checkpoint/saver.hpp"
#include "application/target.hpp"

namespace pleat {

struct CheckpointOptions {
  std::string save, load;                       // folders; empty: none
  int every = 0, keep = 3, check_replicas = 0;  // 0: never
  bool background = false, resume = false;
};

// Puts itself into the config; must outlive train().
class TrainCheckpoints {
 public:
  // Throws ConfigError: bad_request for options that do not go together, refused when another job
  // saves there, device_or_io.
  TrainCheckpoints(const CheckpointOptions&, const Request&, bool first_process, TrainConfig&);
  TrainCheckpoints(const TrainCheckpoints&) = delete;
  TrainCheckpoints& operator=(const TrainCheckpoints&) = delete;

 private:
  void after_step(const StepBoundary&, int steps);

  int check_replicas_ = 0;
  SaveConfig save_;
  RestoreConfig restore_;
  std::optional<SaveLock> lock_;
  std::vector<std::unique_ptr<Saver>> savers_;  // by rank
};

}  // namespace pleat
