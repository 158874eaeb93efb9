// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;  // Linux moves at most 2 GiB at a time

FileStatus status_of(const struct stat& s) {
  using Kind = FileStatus::Kind;
  const Kind kind = S_ISREG(s.st_mode) ? Kind::regular
                    : S_ISDIR(s.st_mode) ? Kind::folder
                                         : Kind::other;
  return {kind, static_cast<std::uint64_t>(s.st_size)};
}

class RealFiles final : public FileSystem {
 public:
  int create(const std::string& path) override {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  }
  int open(const std::string& path) override {
    return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ssize_t write(int file, std::span<const std::byte> bytes) override {
    return ::write(file, bytes.data(), std::min(bytes.size(), kMost));
  }
  ssize_t read(int file, std::span<std::byte> bytes, std::uint64_t offset) override {
    return ::pread(file, bytes.data(), std::min(bytes.size(), kMost),
                   static_cast<off_t>(offset));
  }
  int status(int file, FileStatus& status) override {
    struct stat s {};
    const int result = ::fstat(file, &s);
    status = status_of(s);
    return result;
  }
  int synchronise(int file) override { return ::fsync(file); }
  int close(int file) override { return ::close(file); }
  int look(const std::string& path, FileStatus& status) override {
    struct stat s {};
    const int result = ::lstat(path.c_str(), &s);
    status = status_of(s);
    return result;
  }
  int rename(const std::string& from, const std::string& to, RenameHow how) override {
    if (how == RenameHow::replace) return ::rename(from.c_str(), to.c_str());
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                       how == RenameHow::exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE);
  }
  int remove_file(const std::string& path) override { return ::unlink(path.c_str()); }
  int make_folder(const std::string& path) override { return ::mkdir(path.c_str(), 0755); }
  int remove_folder(const std::string& path) override { return ::rmdir(path.c_str()); }
  int list(const std::string& path, std::vector<std::string>& names) override {
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr) return -1;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    ::closedir(folder);
    errno = error;
    return error == 0 ? 0 : -1;
  }
};

}  // namespace

FileSystem& real_files() {
  static RealFiles files;
  return files;
}

DurableFile::DurableFile(std::string path, FileSystem& files)
    : files_(files),
      path_(std::move(path)),
      partial_(fmt::format("{}.partial.{}", path_, ::getpid())) {
  fd_ = files_.create(partial_);
  if (fd_ < 0) fail("cannot create");
}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  files_.close(fd_);
  files_.remove_file(partial_);
}

void DurableFile::fail(const char* what) const {
  throw_config_error(ExitCode::device_or_io, path_, "",
                     fmt::format("{}: {}", what, std::strerror(errno)));
}

void DurableFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = files_.write(fd_, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = ENOSPC;  // no end of a loop that gets nowhere
    if (put <= 0) fail("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    size_ += static_cast<std::uint64_t>(put);
  }
}

void DurableFile::commit() {
  if (files_.synchronise(fd_) != 0) fail("cannot synchronise");
  if (files_.close(fd_) != 0) {
    const int error = errno;
    fd_ = -1;
    files_.remove_file(partial_);
    errno = error;
    fail("cannot close");
  }
  fd_ = -1;
  if (files_.rename(partial_, path_, RenameHow::replace) != 0) {
    const int error = errno;
    files_.remove_file(partial_);
    errno = error;
    fail("cannot rename");
  }
}

void sync_folder(const std::string& folder, FileSystem& files) {
  const int fd = files.open(folder);
  const bool done = fd >= 0 && files.synchronise(fd) == 0;
  const int error = errno;
  if (fd >= 0) files.close(fd);
  if (!done) {
    throw_config_error(ExitCode::device_or_io, folder, "",
                       fmt::format("cannot synchronise the folder: {}", std::strerror(error)));
  }
}

}  // namespace pleat
