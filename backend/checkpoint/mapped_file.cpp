// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {

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
