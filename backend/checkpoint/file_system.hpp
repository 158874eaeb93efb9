// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The file system under checkpoints, and files that survive a power cut.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pleat {

// All calls that checkpoints make of a file system. Tests replace it by one that loses what was not
// synchronised. The calls do what those of POSIX do: a result below zero means that a call failed,
// and errno says why.

struct FileStatus {
  enum class Kind { regular, folder, other } kind = Kind::other;
  std::uint64_t bytes = 0;
};

enum class RenameHow {
  replace,   // a file that has the new name is removed
  exchange,  // the two files exchange their names
  fresh,     // fails if a file has the new name
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int create(const std::string& path) = 0;  // an empty file, for writing
  virtual int open(const std::string& path) = 0;    // for reading; also a folder
  virtual ssize_t write(int file, std::span<const std::byte>) = 0;
  virtual ssize_t read(int file, std::span<std::byte>, std::uint64_t offset) = 0;
  virtual int status(int file, FileStatus&) = 0;
  virtual int synchronise(int file) = 0;
  virtual int close(int file) = 0;
  virtual int look(const std::string& path, FileStatus&) = 0;  // does not follow links
  virtual int rename(const std::string& from, const std::string& to, RenameHow) = 0;
  virtual int remove_file(const std::string& path) = 0;
  virtual int make_folder(const std::string& path) = 0;
  virtual int remove_folder(const std::string& path) = 0;  // which must be empty
  virtual int list(const std::string& path, std::vector<std::string>& names) = 0;
};

[[nodiscard]] FileSystem& real_files();

// A file that is either whole or not there, also after a power cut: it is written under another
// name, synchronised and then renamed. Every failure is a ConfigError (device_or_io) with the path
// and the system's reason.
class DurableFile {
 public:
  explicit DurableFile(std::string path, FileSystem& files = real_files());
  // Removes the file if it was not committed.
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // Synchronises the bytes and gives the file its name. It does not synchronise the folder.
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
