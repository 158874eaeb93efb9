// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The folder that holds a job's checkpoints. Each is a folder, step_00000010. The file LATEST has
// the name of the newest. While a checkpoint is written, its folder is called step_00000020.tmp.…;
// it gets its name once all of it is on the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/manifest.hpp"

namespace pleat {

// In the folder of a checkpoint, beside its manifest and shards.
inline constexpr const char* kPlanFile = "plan.json";

[[nodiscard]] std::string checkpoint_name(std::int64_t step);  // "step_00000010"

// Reads manifest.json, which lists the files of a checkpoint. Throws ConfigError: bad_file if the
// manifest is broken, device_or_io if it cannot be read.
[[nodiscard]] Manifest open_checkpoint(const std::string& folder,
                                       FileSystem& files = real_files());

// Compares a file with what the manifest says of it. Throws ConfigError (verification) if its size
// or digest differs, or if it is missing.
void verify_file(const std::string& folder, const SavedFile&, FileSystem& files = real_files());

// The folders under `root` that have the name of a checkpoint. The one that LATEST names comes
// first, the others follow from the newest to the oldest. If something is odd about LATEST,
// `remark` says what. Without the folder `root` there are none. Throws ConfigError (device_or_io)
// if it cannot be listed.
[[nodiscard]] std::vector<std::string> checkpoints_in(const std::string& root, std::string& remark,
                                                      FileSystem& files = real_files());

// Makes the folder into which the checkpoint of a step is written, and returns its path.
[[nodiscard]] std::string begin_checkpoint(const std::string& root, std::int64_t step,
                                           FileSystem&);

// Writes manifest.json beside the shards, which must be there. When this returns, all is on the
// disk.
void complete_checkpoint(const std::string& written, const Manifest&, FileSystem&);

// Gives a complete folder its name, points LATEST to it, and then removes all checkpoints but the
// `keep` newest. When this returns, all is on the disk. If it throws, earlier checkpoints are as
// they were. The new folder is then removed, unless a checkpoint that it was to replace may be in
// it; the next save removes it.
void commit_checkpoint(const std::string& root, const std::string& written, std::int64_t step,
                       int keep, FileSystem&);

// Puts a complete folder in the place of a checkpoint of the same step. LATEST does not change.
// When this returns, all is on the disk. If it throws, one of the two has the name.
void replace_checkpoint(const std::string& root, const std::string& written, std::int64_t step,
                        FileSystem&);

// Removes a folder that begin_checkpoint has made. Never throws.
void abandon_checkpoint(const std::string& written, FileSystem&) noexcept;

// Makes the folder of all checkpoints so that it survives a power cut, and removes what interrupted
// saves have left there. Throws ConfigError (device_or_io).
void prepare_root(const std::string& root, FileSystem&);

// Holds the lock of a folder (root/lock), so that no second job saves there. The system frees it
// when the process ends.
class SaveLock {
 public:
  // Prepares the root as prepare_root does. Throws ConfigError: `refused` if another process holds
  // the lock, else device_or_io.
  explicit SaveLock(const std::string& root);
  ~SaveLock();
  SaveLock(const SaveLock&) = delete;
  SaveLock& operator=(const SaveLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace pleat
