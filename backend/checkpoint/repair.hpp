// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checks whether a checkpoint is whole, and repairs the one fault that can be repaired: a tensor
// that is in its shard twice. Old versions saved models with tied tables like this, and no resume
// reads it.
#pragma once

#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"

namespace pleat {

// The reasons why training cannot be resumed from this checkpoint, one line each with the name of
// the file; empty if it can. Every byte is read. Sizes and digests of files are compared with the
// manifest, headers and plan.json are read, and each element of each tensor must be in a shard.
[[nodiscard]] std::vector<std::string> faults_of_checkpoint(const std::string& folder,
                                                            FileSystem& files = real_files());

struct Repair {
  std::vector<std::string> faults;    // faults_of_checkpoint
  std::vector<std::string> remedies;  // a line for each tensor whose copies would be removed
  // What cannot be repaired: bytes that have changed since they were saved, copies that differ.
  std::vector<std::string> hopeless;
  [[nodiscard]] bool is_needed() const { return !faults.empty(); }
  [[nodiscard]] bool is_possible() const { return hopeless.empty() && !remedies.empty(); }
};

// Finds out what is wrong and changes nothing. Copies of a tensor are compared byte by byte.
[[nodiscard]] Repair plan_repair(const std::string& folder, FileSystem& files = real_files());

// Writes a new checkpoint beside the old one, with each tensor once, and reads it back. It then
// takes the name of the old one, which is removed. The parent of `folder` must be the folder of all
// checkpoints. Throws ConfigError: `refused` if a job saves there, verification if plan_repair
// finds it hopeless, else device_or_io.
void write_repaired(const std::string& folder, FileSystem& files = real_files());

}  // namespace pleat
