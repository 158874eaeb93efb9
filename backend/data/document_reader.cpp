// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/document_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
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

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

}  // namespace

DocumentReader::DocumentReader(const std::string& path, DocumentKind kind, std::string json_key)
    : path_(path), file_(path), text_(text_of(file_)), kind_(kind), json_key_(std::move(json_key)) {
  if (kind_ != DocumentKind::automatic) return;
  kind_ = path.ends_with(".jsonl") ? DocumentKind::jsonl : DocumentKind::file;
}

std::string_view DocumentReader::next_line() {
  const std::string_view rest = text_.substr(at_);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  at_ += std::min(line.size() + 1, rest.size());
  ++line_;
  return line;
}

std::string DocumentReader::paragraph() {
  std::string text;
  while (at_ < text_.size()) {
    const std::string_view line = next_line();
    if (is_blank(line)) {
      if (text.empty()) continue;
      break;
    }
    text.append(line).push_back('\n');
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string DocumentReader::json_text(std::string_view line) const {
  const std::string where = fmt::format("{}:{}", path_, line_);
  const auto bad = [&](const std::string& what) {
    throw_config_error(
        ExitCode::bad_file, where, "", what,
        fmt::format("an object a line with its text in \"{}\" (--json-key)", json_key_));
  };
  try {
    const auto json = nlohmann::json::parse(line.begin(), line.end());
    if (!json.is_object()) bad("is no JSON object");
    const auto text = json.find(json_key_);
    if (text == json.end()) bad(fmt::format("has no \"{}\"", json_key_));
    if (!text->is_string()) bad(fmt::format("\"{}\" is no text", json_key_));
    return text->get<std::string>();
  } catch (const nlohmann::json::exception&) {
    bad("is not valid JSON");
  }
  return {};
}

std::optional<std::string> DocumentReader::next() {
  while (at_ < text_.size()) {
    std::string text;
    switch (kind_) {
      case DocumentKind::automatic:
      case DocumentKind::file:
        text = text_;
        at_ = text.size();
        break;
      case DocumentKind::line:
        text = next_line();
        if (text.ends_with('\r')) text.pop_back();
        break;
      case DocumentKind::paragraph:
        text = paragraph();
        break;
      case DocumentKind::jsonl: {
        const std::string_view line = next_line();
        if (is_blank(line)) continue;
        text = json_text(line);
        break;
      }
    }
    if (!text.empty()) return text;
    if (kind_ != DocumentKind::paragraph) ++empty_;
  }
  return std::nullopt;
}

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
