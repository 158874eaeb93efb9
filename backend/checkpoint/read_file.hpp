// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads files, in whole or in parts, or maps them into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"

namespace pleat {

// A regular file that is open for reading. It is not mapped into memory: if another process
// truncates it, reading fails with an error instead of a signal.
class ReadFile {
 public:
  // Throws ConfigError (device_or_io) with the system's reason, also if it is no regular file.
  explicit ReadFile(const std::string& path, FileSystem& files = real_files());
  ~ReadFile();
  ReadFile(ReadFile&& other) noexcept;
  ReadFile& operator=(ReadFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }  // when it was opened
  // Fills `out` with the bytes from `offset` on. Throws ConfigError (device_or_io), also if the
  // file has become shorter. Several threads may call it.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] std::vector<std::byte> all() const;

 private:
  FileSystem* files_;
  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file as text. Throws ConfigError: bad_file if it is larger than `limit`, else
// device_or_io.
[[nodiscard]] std::string read_text(const std::string& path, std::uint64_t limit, FileSystem&);

// A whole file, mapped into memory that can only be read.
class MappedFile {
 public:
  // Throws ConfigError (device_or_io) with the system's reason, also if it is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace pleat
