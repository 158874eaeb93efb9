// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

constexpr const char* kBibleHint = "install Debian's bible-kjv package, or give --data FILE";

[[noreturn]] void fail_program(const std::string& program, const std::string& why) {
  throw_config_error(ExitCode::device_or_io, program, "", why, kBibleHint);
}

std::vector<std::uint8_t> read_all(int fd) {
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 65536> chunk;
  for (;;) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + n);
  }
}

}  // namespace

std::vector<std::uint8_t> load_text(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open() || std::filesystem::is_directory(path, ignored)) {
    throw_config_error(ExitCode::device_or_io, path.string(), "", "cannot be read",
                       "a readable file of training text");
  }
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in),
                                  std::istreambuf_iterator<char>()};
  if (bytes.empty()) {
    throw_config_error(ExitCode::bad_file, path.string(), "", "is empty",
                       "a file of training text, at least one sequence long");
  }
  return bytes;
}

std::vector<std::uint8_t> output_of(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_program(command[0], "cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, command[0].c_str(), &actions, nullptr, argv.data(),
                                   inherited_environment());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::vector<std::uint8_t> bytes;
  if (error == 0) bytes = read_all(ends[0]);
  ::close(ends[0]);
  if (error != 0) fail_program(command[0], fmt::format("cannot run: {}", std::strerror(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_program(command[0], "failed");
  return bytes;
}

std::vector<std::uint8_t> default_text(const std::filesystem::path& cache_directory) {
  const std::filesystem::path cached = cache_directory / "bible-kjv.txt";
  std::error_code ignored;
  if (std::filesystem::file_size(cached, ignored) > 0 && !ignored) return load_text(cached);
  std::vector<std::uint8_t> text = output_of({"bible", "gen1:1-rev22:21"});
  if (text.empty()) fail_program("bible", "printed nothing");
  // The cache only saves time: a directory that cannot be written is not an error. Renaming makes a
  // half-written file impossible.
  std::filesystem::create_directories(cache_directory, ignored);
  const std::filesystem::path partial =
      cache_directory / fmt::format("bible-kjv.txt.{}", ::getpid());
  std::ofstream out(partial, std::ios::binary);
  out.write(reinterpret_cast<const char*>(text.data()), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out) std::filesystem::rename(partial, cached, ignored);
  return text;
}

}  // namespace pleat
