// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A file that survives a power cut once it is there: written beside its name, synchronised,
// renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/checkpoint/file_system.hpp"

namespace pleat {

// Every failure is a ConfigError (device_or_io) with the path and the system's reason.
class DurableFile {
 public:
  explicit DurableFile(std::string path, FileSystem& files = real_files());
  // What was not committed is removed.
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // Synchronises the bytes and gives the file its name. The folder is not synchronised.
  void commit();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(const char* what) const;

  FileSystem& files_;
  std::string path_, partial_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// Makes the names in a folder durable: those of new and renamed files.
void sync_folder(const std::string& folder, FileSystem& files = real_files());

}  // namespace pleat
