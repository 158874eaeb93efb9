// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

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

}  // namespace pleat
