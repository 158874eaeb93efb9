// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The run that `pleat train --resume` or `--load` goes on from, as far as it decides what is read
// and trained: restore.hpp loads it.
#pragma once

#include <optional>
#include <string>

#include "application/training/train_checkpoints.hpp"
#include "backend/checkpoint/manifest.hpp"
#include "core/spec/model.hpp"

namespace pleat {

struct EarlierRun {
  std::string folder;  // of the checkpoint
  TrainingState state;
  ModelSpec model;  // with the losses it was trained with
};

// Of the newest checkpoint. Nothing where there is none, or none that can be read: restore() says
// why.
[[nodiscard]] std::optional<EarlierRun> earlier_run(const CheckpointOptions&);

}  // namespace pleat
