// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reading whole files or parts of them: by reads, or mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"

namespace pleat {

// A regular file open for reading. Read, not mapped: where another process cuts it short, that is
// an error and no signal.

class ReadFile {
 public:
  // Throws ConfigError (device_or_io) with the system's reason; also for what is no regular file.
  explicit ReadFile(const std::string& path, FileSystem& files = real_files());
  ~ReadFile();
  ReadFile(ReadFile&& other) noexcept;
  ReadFile& operator=(ReadFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // when it was opened
  // Fills `out` from an offset on. Throws ConfigError (device_or_io), also where the file has
  // become shorter. May be called by several threads.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] std::vector<std::byte> all() const;

 private:
  FileSystem* files_;
  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// A whole text. Throws ConfigError: device_or_io, bad_file where it is larger than `limit`.
[[nodiscard]] std::string read_text(const std::string& path, std::uint64_t limit, FileSystem&);

// A whole file as read-only memory.

class MappedFile {
 public:
  // Throws ConfigError (device_or_io) with the system's reason; also for what is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace pleat
