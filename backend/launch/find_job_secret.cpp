// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/launch/find_job_secret.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::size_t kFewestCharacters = 32, kMostBytes = 4096;
constexpr const char* kHowToMake = "openssl rand -hex 32 makes one";

[[noreturn]] void refuse(const char* variable, const std::string& message,
                         const std::string& hint) {
  throw_config_error(ExitCode::bad_request, variable, "", message, hint);
}

JobSecret checked(const char* variable, std::string text) {
  constexpr const char* kBlanks = " \t\r\n";
  text.erase(text.find_last_not_of(kBlanks) + 1);
  text.erase(0, text.find_first_not_of(kBlanks));
  if (text.size() < kFewestCharacters) {
    refuse(variable,
           fmt::format("the job's secret has {} characters, at least {} are needed", text.size(),
                       kFewestCharacters),
           kHowToMake);
  }
  return JobSecret(text);
}

class File {
 public:
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

std::string read_secret_file(const std::string& path) {
  const auto fail = [&](const std::string& message, const std::string& hint) {
    refuse(kJobSecretFileVariable, fmt::format("{}: {}", path, message), hint);
  };
  const File file(path);
  struct stat facts {};
  if (file.fd() < 0 || fstat(file.fd(), &facts) != 0) {
    fail(std::strerror(errno), "the path of a file that this user can read");
  }
  if (!S_ISREG(facts.st_mode)) fail("is no plain file", kHowToMake);
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    fail("belongs to another user", "chown it to the user of the job");
  }
  if ((facts.st_mode & 077) != 0) {
    fail(fmt::format("others than its owner may use it (mode {:o})", facts.st_mode & 0777U),
         "chmod 600 " + path);
  }
  std::array<char, kMostBytes + 1> text{};
  std::size_t size = 0;
  for (ssize_t n; (n = ::read(file.fd(), text.data() + size, text.size() - size)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::strerror(errno), "a file that can be read");
    size += static_cast<std::size_t>(n);
    if (size > kMostBytes) fail(fmt::format("is larger than {} bytes", kMostBytes), kHowToMake);
  }
  return {text.data(), size};
}

}  // namespace

JobSecret find_job_secret(const Variables& variables) {
  const auto set = [&](const char* name) { return variables(name).value_or(""); };
  const std::string text = set(kJobSecretVariable), path = set(kJobSecretFileVariable);
  if (!text.empty() && !path.empty()) {
    refuse(kJobSecretFileVariable, "is set, and so is PLEAT_JOB_SECRET", "unset one of them");
  }
  if (!path.empty()) return checked(kJobSecretFileVariable, read_secret_file(path));
  if (!text.empty()) return checked(kJobSecretVariable, text);
  return {};
}

}  // namespace pleat
