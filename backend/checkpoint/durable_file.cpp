// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMaxWrite = std::size_t{1} << 30;  // Linux writes at most 2 GiB at a time

}  // namespace

DurableFile::DurableFile(std::string path)
    : path_(std::move(path)), partial_(fmt::format("{}.partial.{}", path_, ::getpid())) {
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) fail("cannot create");
}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

void DurableFile::fail(const char* what) const {
  throw_config_error(ExitCode::device_or_io, path_, "",
                     fmt::format("{}: {}", what, std::strerror(errno)));
}

void DurableFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    size_ += static_cast<std::uint64_t>(put);
  }
}

void DurableFile::commit() {
  if (::fsync(fd_) != 0) fail("cannot synchronise");
  if (::close(fd_) != 0) {
    fd_ = -1;
    ::unlink(partial_.c_str());
    fail("cannot close");
  }
  fd_ = -1;
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(partial_.c_str());
    errno = error;
    fail("cannot rename");
  }
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!done) {
    throw_config_error(ExitCode::device_or_io, folder, "",
                       fmt::format("cannot synchronise the folder: {}", std::strerror(error)));
  }
}

}  // namespace pleat
