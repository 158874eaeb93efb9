// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whether a checkpoint is whole, and mending the one fault that can be mended: a tensor that stands
// in its shard twice. Saves of models with tied tables wrote that until it was found; no resume
// reads it.
#pragma once

#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"

namespace pleat {

// What keeps a resume from this checkpoint, a line each with its file; empty: nothing. Reads every
// byte: files against the manifest's sizes and digests, headers, plan.json, and whether each
// element of each tensor is in a shard.
[[nodiscard]] std::vector<std::string> faults_of_checkpoint(const std::string& folder,
                                                            FileSystem& files = real_files());

struct Repair {
  std::vector<std::string> faults;    // of faults_of_checkpoint, as it is
  std::vector<std::string> remedies;  // a line for each tensor whose further copies would go
  // What cannot be mended: bytes that are not those that were saved, copies that differ.
  std::vector<std::string> hopeless;
  [[nodiscard]] bool is_needed() const { return !faults.empty(); }
  [[nodiscard]] bool is_possible() const { return hopeless.empty() && !remedies.empty(); }
};

// Looks only. Copies of a tensor are compared byte by byte.
[[nodiscard]] Repair plan_repair(const std::string& folder, FileSystem& files = real_files());

// Writes the checkpoint anew beside it, each tensor once, reads that back and gives it the name;
// the old one then goes. Its parent is the folder of checkpoints. Throws ConfigError: refused when
// a job saves there, verification where plan_repair says that it is hopeless, device_or_io.
void write_repaired(const std::string& folder, FileSystem& files = real_files());

}  // namespace pleat
