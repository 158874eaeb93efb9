// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The folder that a job's checkpoints are in: step_00000010/ each, LATEST with the newest one's
// name, step_00000020.tmp.… while one is written. A checkpoint has its name once all of it is on
// the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/manifest.hpp"

namespace pleat {

inline constexpr const char* kPlanFile =
    "plan.json";  // of a checkpoint, beside its manifest and shards

[[nodiscard]] std::string checkpoint_name(std::int64_t step);  // "step_00000010"

// A checkpoint's files: manifest.json, plan.json, the shards. Throws ConfigError: bad_file for a
// broken manifest, device_or_io where it cannot be read.
[[nodiscard]] Manifest open_checkpoint(const std::string& folder,
                                       FileSystem& files = real_files());

// Compares a file with what the manifest says of it. Throws ConfigError (verification) for another
// size or digest, also where it is missing.
void verify_file(const std::string& folder, const SavedFile&, FileSystem& files = real_files());

// Names of the folders under `root` that are checkpoints by their name, newest first; the one that
// LATEST names stands first. `remark` gets what is odd about LATEST, or stays empty. No folder:
// none. Throws ConfigError (device_or_io) where it cannot be listed.
[[nodiscard]] std::vector<std::string> checkpoints_in(const std::string& root, std::string& remark,
                                                      FileSystem& files = real_files());

// Makes a folder to write the checkpoint of a step into.
[[nodiscard]] std::string begin_checkpoint(const std::string& root, std::int64_t step,
                                           FileSystem&);

// The shards are written: writes manifest.json beside them, all on the disk when this returns.
void complete_checkpoint(const std::string& written, const Manifest&, FileSystem&);

// Gives a complete folder its name, points LATEST to it and then removes all but the `keep` newest.
// All is on the disk when this returns. If it throws, the checkpoints before are as they were, and
// the folder is gone, or stays for the next save to remove where a replaced checkpoint may be in
// it.
void commit_checkpoint(const std::string& root, const std::string& written, std::int64_t step,
                       int keep, FileSystem&);

// Gives a complete folder the name of a checkpoint that is there, which then goes; LATEST stays. On
// the disk when this returns. If it throws, one of the two has the name.
void replace_checkpoint(const std::string& root, const std::string& written, std::int64_t step,
                        FileSystem&);

// Removes a folder of begin_checkpoint. Never throws.
void abandon_checkpoint(const std::string& written, FileSystem&) noexcept;

// Makes the folder of all checkpoints, durably, and removes what broken saves left there. Throws
// ConfigError (device_or_io).
void prepare_root(const std::string& root, FileSystem&);

// Holds root/lock, so that two jobs do not save into one folder. Gone with the process.
class SaveLock {
 public:
  // Makes the root, and removes what broken saves left there. Throws ConfigError: refused when
  // another process holds it, device_or_io.
  explicit SaveLock(const std::string& root);
  ~SaveLock();
  SaveLock(const SaveLock&) = delete;
  SaveLock& operator=(const SaveLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace pleat
