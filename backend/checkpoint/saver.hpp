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

// Texts that all ranks exchange between two steps.

// Every rank's text, in rank order.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator&, const std::string& mine);
// Rank 0's text on every rank.
[[nodiscard]] std::string text_of_first(Communicator&, const std::string& mine);
// The first text that is not empty: what went wrong on some rank, the same on all.
[[nodiscard]] std::string first_problem(Communicator&, const std::string& mine);

// Saves one rank's share of a checkpoint, in step with the other ranks: a snapshot in host memory,
// written by a thread of its own, and a commit that all ranks agree on between two steps. Before
// the commit every rank reads the checkpoint back as a resume would.

struct SaveConfig {
  std::string folder;         // of all checkpoints of the job; empty: nothing is saved
  int every = 0;              // steps between saves; 0: only when training ends
  int keep = 3;               // newest checkpoints that stay
  bool background = false;    // training goes on while it is written
  int max_failures = 3;       // saves that fail one after the other before training stops
  std::string plan_document;  // plan.json of every checkpoint
  TrainingState state;        // sizes, seed and digest of the data; the rest is filled in
  // One line about a save that failed, on rank 0.
  std::function<void(const std::string&)> on_message;
  FileSystem* files = &real_files();
};

class Saver {
 public:
  explicit Saver(const SaveConfig& config) : config_(config) {}
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Between two steps, by every rank. Throws ConfigError on every rank: device_or_io after
  // max_failures saves in a row have failed, or when the last save of a run has; verification at
  // once when what was written cannot be read back. The checkpoints before stay as they were.
  void after_step(const StepBoundary&, bool last);

 private:
  struct Written {
    ShardRecord record;
    std::string error;      // empty: all of it is on the disk
    std::string unreadable;  // why it is there, but not what was written; empty: it is
  };
  void begin(const StepBoundary&);
  void write(Written& written, const std::vector<std::byte>& bytes, int rank);
  void finish(const StepBoundary&, bool wait);
  void complete(const StepBoundary&, const std::vector<std::string>& records);
  std::string read_back(const StepBoundary&);
  void count(const std::string& error, const StepBoundary&);

  const SaveConfig& config_;
  TrainingState state_;     // of the save under way
  std::string written_to_;  // its folder; empty: none is
  std::future<Written> writing_;
  std::int64_t saved_step_ = -1;
  int failures_ = 0;
};

}  // namespace pleat
