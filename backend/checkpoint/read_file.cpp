// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw_config_error(ExitCode::device_or_io, path, "", "cannot read: " + why);
}

}  // namespace

ReadFile::ReadFile(const std::string& path, FileSystem& files) : files_(&files), path_(path) {
  file_ = files.open(path);
  if (file_ < 0) fail(path, std::strerror(errno));
  FileStatus status;
  const int error = files.status(file_, status) < 0 ? errno : 0;
  if (error != 0 || status.kind != FileStatus::Kind::regular) {
    files.close(file_);
    fail(path, error != 0 ? std::strerror(error) : "not a regular file");
  }
  size_ = status.bytes;
}

ReadFile::~ReadFile() {
  if (file_ >= 0) files_->close(file_);
}

ReadFile::ReadFile(ReadFile&& other) noexcept
    : files_(other.files_),
      path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_) {}

void ReadFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = files_->read(file_, out, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, std::strerror(errno));
    if (got == 0) {
      fail(path_, fmt::format("the file shrank while it was read, from {} bytes to {} at most",
                              size_, offset));
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::vector<std::byte> ReadFile::all() const {
  std::vector<std::byte> bytes(size_);
  read(0, bytes);
  return bytes;
}

std::string read_text(const std::string& path, std::uint64_t limit, FileSystem& files) {
  const ReadFile file(path, files);
  if (file.size() > limit) {
    throw_config_error(ExitCode::bad_file, path, "",
                       fmt::format("{} bytes; at most {} are allowed", file.size(), limit));
  }
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&path](const std::string& why) {
    throw_config_error(ExitCode::device_or_io, path, "", "cannot read: " + why);
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) fail(std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(fd, &status) == 0;
  int error = known ? 0 : errno;
  void* data = nullptr;
  const auto size = static_cast<std::size_t>(status.st_size);
  const bool regular = known && S_ISREG(status.st_mode);
  if (regular && size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  ::close(fd);
  if (error != 0) fail(std::strerror(error));
  if (!regular) fail("not a regular file");
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace pleat
