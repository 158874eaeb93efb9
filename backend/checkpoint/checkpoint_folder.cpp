// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/checkpoint_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "backend/checkpoint/digest.hpp"
#include "backend/checkpoint/durable_file.hpp"
#include "backend/checkpoint/failpoint.hpp"
#include "backend/checkpoint/mapped_file.hpp"
#include "backend/checkpoint/safetensors.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kLatest = "LATEST";
constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kUnfinished = ".tmp.";
constexpr std::size_t kDigits = 8, kMaxDigits = 12;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw_config_error(ExitCode::device_or_io, path, "",
                     fmt::format("{}: {}", what, std::strerror(error)));
}

bool is_checkpoint_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return false;
  const std::string digits = name.substr(kPrefix.size());
  return digits.size() >= kDigits && digits.size() <= kMaxDigits &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_unfinished_name(const std::string& name) {
  const std::size_t at = name.find(kUnfinished);
  return at != std::string::npos && is_checkpoint_name(name.substr(0, at));
}

// Names of files in a checkpoint are the program's own.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.front() != '.' &&
         name.find('\0') == std::string::npos;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

std::int64_t step_of(const std::string& name) { return std::stoll(name.substr(kPrefix.size())); }

void write_durably(const std::string& path, const std::string& text) {
  DurableFile file(path);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}

// What broken saves left behind.
void remove_torn(const std::string& root) {
  for (const std::string& name : names_in(root)) {
    const bool torn = is_unfinished_name(name) || name.starts_with(std::string(kLatest) + ".");
    if (torn) abandon_checkpoint(root + "/" + name);
  }
}

// What stands in LATEST, or nothing with a remark.
std::string latest_name(const std::string& root, std::string& remark) {
  std::error_code ignored;
  const std::string path = root + "/" + kLatest;
  if (!fs::exists(path, ignored)) return "";
  try {
    std::string text = read_text_file(path, 256);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (is_checkpoint_name(text)) return text;
    remark = fmt::format("{}: names no checkpoint", path);
  } catch (const ConfigError& e) {
    remark = e.what();
  }
  return "";
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

Manifest open_checkpoint(const std::string& folder) {
  const std::string path = folder + "/" + kManifest;
  Manifest manifest = read_manifest(read_text_file(path, kMaxSafetensorsHeader), path);
  for (const SavedFile& file : manifest.files) {
    if (is_file_name(file.name)) continue;
    throw_config_error(ExitCode::bad_file, path, "files", "a file outside of the checkpoint");
  }
  return manifest;
}

void verify_file(const std::string& folder, const SavedFile& expected) {
  const std::string path = folder + "/" + expected.name;
  const auto fail_verification = [&](const std::string& what) {
    throw_config_error(ExitCode::verification, path, "", what);
  };
  std::error_code error;
  if (fs::is_symlink(path, error) || !fs::is_regular_file(path, error)) {
    fail_verification("is missing, or no regular file");
  }
  const MappedFile file(path);
  if (file.bytes().size() != expected.bytes) {
    fail_verification(
        fmt::format("has {} bytes, {} were saved", file.bytes().size(), expected.bytes));
  }
  if (digest_of(file.bytes()) != expected.digest) {
    fail_verification("its bytes are not those that were saved");
  }
}

std::vector<std::string> checkpoints_in(const std::string& root, std::string& remark) {
  std::vector<std::string> names = names_in(root);
  std::erase_if(names, [](const std::string& name) { return !is_checkpoint_name(name); });
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return step_of(a) > step_of(b); });
  const std::string latest = latest_name(root, remark);
  const auto found = std::find(names.begin(), names.end(), latest);
  if (found != names.end()) {
    std::rotate(names.begin(), found, found + 1);
  } else if (!latest.empty()) {
    remark = fmt::format("{}/{}: names {}, which is not there", root, kLatest, latest);
  } else if (!names.empty() && remark.empty()) {
    remark = fmt::format("{}/{}: is missing", root, kLatest);
  }
  return names;
}

std::string begin_checkpoint(const std::string& root, std::int64_t step) {
  std::string folder = fmt::format("{}/{}{}XXXXXX", root, checkpoint_name(step), kUnfinished);
  failpoint("ckpt.before_folder", 0, static_cast<int>(step));
  if (::mkdtemp(folder.data()) == nullptr) fail(folder, "cannot make the folder", errno);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  failpoint("ckpt.after_folder", 0, static_cast<int>(step));
  return folder;
}

void complete_checkpoint(const std::string& written, const Manifest& m) {
  const int step = static_cast<int>(m.state.step);
  failpoint("ckpt.before_manifest", 0, step);
  write_durably(written + "/" + kManifest, write_manifest(m));
  sync_folder(written);
  failpoint("ckpt.after_manifest", 0, step);
}

void commit_checkpoint(const std::string& root, const std::string& written, std::int64_t of_step,
                       int keep) {
  const int step = static_cast<int>(of_step);
  const std::string name = checkpoint_name(of_step), final_path = root + "/" + name;
  failpoint("ckpt.before_rename", 0, step);
  // It may be there: this run repeats steps after an older checkpoint. Then the two change places.
  const bool replaces = fs::exists(final_path);
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, final_path.c_str(),
                  replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
    fail(written, "cannot rename", errno);
  }
  failpoint("ckpt.after_rename", 0, step);
  sync_folder(root);
  failpoint("ckpt.before_latest", 0, step);
  write_durably(root + "/" + kLatest, name + "\n");
  sync_folder(root);
  failpoint("ckpt.after_latest", 0, step);
  std::string ignored;
  const std::vector<std::string> all = checkpoints_in(root, ignored);
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    // Under its name a checkpoint is whole, also while it is being removed.
    const std::string old = root + "/" + all[i], removed = old + std::string(kUnfinished) + "old";
    if (::rename(old.c_str(), removed.c_str()) == 0) {
      failpoint("ckpt.removing", 0, step);
      abandon_checkpoint(removed);
    }
  }
  remove_torn(root);
  failpoint("ckpt.done", 0, step);
}

void abandon_checkpoint(const std::string& written) noexcept {
  std::error_code ignored;
  fs::remove_all(written, ignored);
}

SaveLock::SaveLock(const std::string& root) {
  std::error_code error;
  fs::create_directories(root, error);
  if (error)
    throw_config_error(ExitCode::device_or_io, root, "", "cannot be made: " + error.message());
  const std::string path = root + "/lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) fail(path, "cannot open", errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(fd_);
    if (why != EWOULDBLOCK) fail(path, "cannot lock", why);
    std::string holder = read_text_file(path, 4096);
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    throw_config_error(ExitCode::refused, root, "",
                       fmt::format("another job saves here ({})", holder), "another folder");
  }
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string text = fmt::format("host {}, process {}\n", host, ::getpid());
  if (::ftruncate(fd_, 0) == 0 && ::write(fd_, text.data(), text.size()) < 0) {
    // Who holds it is only said in a message.
  }
  remove_torn(root);
}

SaveLock::~SaveLock() { ::close(fd_); }

}  // namespace pleat
