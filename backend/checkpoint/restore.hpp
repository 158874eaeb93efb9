// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training goes on from a checkpoint, whatever layout it was saved from: a rank takes each element
// that it needs from the shard that has it.
#pragma once

#include <functional>
#include <string>

#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/manifest.hpp"
#include "backend/trainer.hpp"

namespace pleat {

struct RestoreConfig {
  std::string folder;     // one checkpoint, or the folder of many: its newest good one is taken
  bool optional = false;  // no checkpoint at all is no error: training starts anew
  TrainingState state;    // what the run has: sizes and data must agree
  ModelSpec model;        // so must this
  std::function<void(const std::string&)> on_message;  // on rank 0: what is damaged, what is taken
  FileSystem* files = &real_files();
};

// Loads the state of this rank, and says how many steps are done. Called by every rank before the
// first step; all load the same checkpoint, and verify each file once between them. Throws
// ConfigError: verification when every checkpoint is damaged, or the model, the data or the sizes
// of the batch are others; bad_file or device_or_io where one that was named cannot be read.
[[nodiscard]] int restore(const StepBoundary&, const RestoreConfig&);

// Whether this rank could go on from a checkpoint with this manifest: each element of its state is
// there, by name, size and type. Reads the shards' headers, not their data. Throws ConfigError:
// bad_file for a broken shard, verification naming the tensor that is not whole.
void require_complete(const std::string& folder, const Manifest&, Executor&,
                      FileSystem& files = real_files());

// Whole weights by name out of a checkpoint, for export. Throws like open_checkpoint.
class SavedWeights {
 public:
  explicit SavedWeights(const std::string& checkpoint);
  ~SavedWeights();
  void read(const std::string& name, std::span<float> out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat
