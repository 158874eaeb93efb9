// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// POSIX file access: opened without blocking, so that a FIFO or a device is refused, not waited
// for.
#include "core/json/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pleat {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw_config_error(ExitCode::device_or_io, path, "",
                     fmt::format("{}: {}", what, std::strerror(error)));
}

}  // namespace

std::string read_text_file(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot open", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, "cannot read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "cannot read", EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw_config_error(ExitCode::device_or_io, path, "",
                       "cannot read: not a regular file (a FIFO, socket or device)");
  }
  const auto too_large = [&](std::size_t size) {
    throw_config_error(ExitCode::bad_file, path, "",
                       fmt::format("{} bytes; at most {} are allowed", size, limit));
  };
  const std::size_t size = static_cast<std::size_t>(status.st_size);
  if (size > limit) too_large(size);

  std::string text(size + 1, '\0');  // one more: a file that grows is noticed
  std::size_t used = 0;
  while (true) {
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot read", errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) too_large(used);
    if (used == text.size()) text.resize(2 * used);
  }
  text.resize(used);
  return text;
}

void write_text_file(const std::string& path, const std::string& text) {
  const std::string partial = fmt::format("{}.tmp.{}", path, ::getpid());
  const auto abandon = [&](const char* what) {
    const int error = errno;
    ::unlink(partial.c_str());
    fail(path, what, error);
  };
  {
    const Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() < 0) fail(path, "cannot write", errno);
    for (std::size_t used = 0; used < text.size();) {
      const ssize_t put = ::write(file.get(), text.data() + used, text.size() - used);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) abandon("cannot write");
      used += static_cast<std::size_t>(put);
    }
    if (::fsync(file.get()) != 0 && errno != EINVAL) abandon("cannot write");
  }
  if (::rename(partial.c_str(), path.c_str()) != 0) abandon("cannot write");
}

}  // namespace pleat
