// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checkpoints of `pleat train`: saving, also when SIGTERM ends the run, and going on from one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/checkpoint/saver.hpp"

namespace pleat {

struct CheckpointOptions {
  std::string save, load;                       // folders; empty: none
  int every = 0, keep = 3, check_replicas = 0;  // 0: never
  bool background = false, resume = false;
};

// What is read, as checkpoints note it.
struct RunData {
  std::string digest = {};         // of some of its first samples
  std::int64_t order_samples = 0;  // that their order was made for
  std::int64_t begins = 0;         // the run's first sample of it
  bool replaces = false;           // other data than the checkpoint's, which --load allows
  std::string remark = {};         // what a user should know; may be empty
};

// Puts itself into the config; must outlive train().
class TrainCheckpoints {
 public:
  // Throws ConfigError: bad_request for options that do not go together, refused when another job
  // saves there, device_or_io.
  TrainCheckpoints(const CheckpointOptions&, const Request&, const RunData&, bool first_process,
                   TrainConfig&);
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
