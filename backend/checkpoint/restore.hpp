// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Resumes training from a checkpoint. The ranks may be arranged differently from those that saved
// it: a rank takes each element that it needs from the shard that has it.
#pragma once

#include <functional>
#include <string>

#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/manifest.hpp"
#include "backend/trainer.hpp"

namespace pleat {

struct RestoreConfig {
  std::string folder;     // of one checkpoint, or of many: then the newest undamaged one is taken
  bool optional = false;  // without any checkpoint training starts from the beginning
  TrainingState state;    // of this run; its sizes and data must be those of the checkpoint
  ModelSpec model;        // must be the checkpoint's, too, but for the weights of further losses
  // On rank 0: which checkpoints are damaged, and which one is taken.
  std::function<void(const std::string&)> on_message;
  FileSystem* files = &real_files();
  bool other_data = false;  // the data need not be the checkpoint's
};

// Loads the state of this rank and returns how many steps are done. Every rank calls it before the
// first step. All load the same checkpoint and share the work of verifying its files. Throws
// ConfigError: verification if every checkpoint is damaged or was made with another model, other
// data or other sizes of the batch; bad_file or device_or_io if the named checkpoint cannot be
// read.
[[nodiscard]] int restore(const StepBoundary&, const RestoreConfig&);

// Checks that this rank could resume from a checkpoint with this manifest: each element of its
// state must be there, with the same name, size and type. Reads the headers of shards, not their
// data. Throws ConfigError: bad_file for a broken shard; verification, which names a tensor that is
// not whole.
void require_complete(const std::string& folder, const Manifest&, Executor&,
                      FileSystem& files = real_files());

// Reads whole weights from a checkpoint by name, for exports. Throws what open_checkpoint throws.
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
