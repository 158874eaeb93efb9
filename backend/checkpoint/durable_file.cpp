// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/durable_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {
DurableFile::DurableFile(std::string path, FileSystem& files)
    : files_(files), path_(std::move(path)), partial_(fmt::format("{}.partial.{}", path_, ::getpid())) {
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
