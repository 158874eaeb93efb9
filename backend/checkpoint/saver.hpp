// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Saves one rank's share of a checkpoint, in step with the other ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/manifest.hpp"
#include "backend/comm/communicator.hpp"
#include "backend/trainer.hpp"

namespace pleat {

// Texts that ranks exchange between two steps; all ranks call these together.

// The texts of all ranks, in the order of the ranks.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator&, const std::string& mine);
// The text of rank 0.
[[nodiscard]] std::string text_of_first(Communicator&, const std::string& mine);
// The first text that is not empty. If something went wrong on a rank, all ranks learn it this way.
[[nodiscard]] std::string first_problem(Communicator&, const std::string& mine);

// How a save goes. Each rank copies its share to host memory, and a thread of its own writes it to
// the disk. When all have written, every rank reads the checkpoint back as a resume would. Between
// two steps the ranks then agree that it is good, and it gets its name.

struct SaveConfig {
  std::string folder;         // for all checkpoints of the job; empty: nothing is saved
  int every = 0;              // steps between saves; 0: only when training ends
  int keep = 3;               // so many of the newest checkpoints are kept
  bool background = false;    // training goes on while a checkpoint is written
  int max_failures = 3;       // after so many failed saves in a row training stops
  std::string plan_document;  // goes into plan.json of every checkpoint
  TrainingState state;        // sizes, seed and digest of the data; the saver fills in the rest
  // Called on rank 0 with a line about a save that failed.
  std::function<void(const std::string&)> on_message;
  FileSystem* files = &real_files();
};

class Saver {
 public:
  explicit Saver(const SaveConfig& config) : config_(config) {}
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Every rank calls it between two steps. Throws ConfigError on every rank: device_or_io if
  // max_failures saves in a row have failed, or the last save of the run; verification as soon as a
  // checkpoint cannot be read back. Earlier checkpoints stay as they are.
  void after_step(const StepBoundary&, bool last);

 private:
  struct Written {
    ShardRecord record;
    std::string error;      // empty: all of it is on the disk
    std::string unreadable;  // why what is there is not what was written; empty: it is
  };
  void begin(const StepBoundary&);
  void write(Written& written, const std::vector<std::byte>& bytes, int rank);
  void finish(const StepBoundary&, bool wait);
  void complete(const StepBoundary&, const std::vector<std::string>& records);
  std::string read_back(const StepBoundary&);
  void count(const std::string& error, const StepBoundary&);

  const SaveConfig& config_;
  TrainingState state_;     // of the save that is under way
  std::string written_to_;  // its folder; empty: none is under way
  std::future<Written> writing_;
  std::int64_t saved_step_ = -1;
  int failures_ = 0;
};

}  // namespace pleat
