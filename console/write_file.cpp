// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/write_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

bool only_says = false;
std::set<std::string> said_folders;  // that would have been made

[[noreturn]] void fail(const std::string& path, int error, const std::string& hint = {}) {
  throw_config_error(ExitCode::device_or_io, path, "",
                     std::string("cannot write: ") + std::strerror(error), hint);
}

// A device or a pipe is written in place: renaming a file over /dev/null would replace the device.
bool is_stream(const std::string& path) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  return type == fs::file_type::character || type == fs::file_type::fifo;
}

void write_stream(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) fail(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) fail(path, written ? errno : error);
}

// The file that a link points to is replaced, not the link.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error || real.empty() ? path : real.string();
}

}  // namespace

void require_writable(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(path, EISDIR);
  std::string parent = fs::path(path).parent_path().string();
  if (parent.empty()) parent = ".";
  if (said_folders.contains(parent)) return;
  if (!fs::is_directory(parent, ignored)) {
    fail(path, ENOENT, "the folder " + parent + " does not exist");
  }
  if (::access(is_stream(path) ? path.c_str() : parent.c_str(), W_OK) != 0) fail(path, errno);
}

void only_say_writes() { only_says = true; }

bool writes_are_only_said() { return only_says; }

bool only_said(const std::string& what) {
  if (only_says) note("would write " + what);
  return only_says;
}

void write_file(const std::string& path, const std::string& text) {
  require_writable(path);
  if (only_says) {
    note("would write " + path + " (" + std::to_string(std::count(text.begin(), text.end(), '\n')) +
         " lines)");
    return;
  }
  if (is_stream(path)) {
    write_stream(path, text);
    return;
  }
  const std::string target = resolved(path);
  const std::string partial = target + ".tmp." + std::to_string(::getpid());
  remove_on_interrupt(partial.c_str());  // the name that write_text_file uses
  try {
    write_text_file(target, text);
  } catch (...) {
    remove_on_interrupt(nullptr);
    throw;
  }
  remove_on_interrupt(nullptr);
}

void write_and_say(const std::string& path, const std::string& text) {
  write_file(path, text);
  if (!only_says) note("wrote " + path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  if (only_says) {
    if (!fs::is_directory(path, error)) said_folders.insert(path);
    return;
  }
  fs::create_directories(path, error);
  if (error) fail(path, error.value());
}

void check_output(const OutputOptions& o, const std::string& file) {
  std::error_code ignored;
  if (!o.force && std::filesystem::is_regular_file(file, ignored)) {
    throw_config_error(ExitCode::refused, file, "", "is there already", "--force replaces it");
  }
  require_writable(file);
}

void check_output(const OutputOptions& o) {
  if (!o.file.empty()) check_output(o, o.file);
}

void check_outputs(const std::vector<std::string>& files, bool force) {
  for (const std::string& file : files) {
    if (!file.empty()) check_output({.file = file, .force = force}, file);
  }
}

void write_output(const OutputOptions& o, const std::string& file, const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (o.dry_run) {
    note(fmt::format("would write {} ({} lines)", file, lines));
    return;
  }
  write_file(file, text);
  note(fmt::format("wrote {} ({} lines)", file, lines));
}

}  // namespace pleat
