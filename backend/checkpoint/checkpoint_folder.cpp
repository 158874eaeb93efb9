// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/checkpoint_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/checkpoint/digest.hpp"
#include "backend/checkpoint/failpoint.hpp"
#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/read_file.hpp"
#include "backend/checkpoint/safetensors.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kLatest = "LATEST";
constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kUnfinished = ".tmp.";
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;  // at once
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

std::vector<std::string> names_in(const std::string& folder, FileSystem& files) {
  std::vector<std::string> names;
  if (files.list(folder, names) < 0 && errno != ENOENT) fail(folder, "cannot list", errno);
  return names;
}

bool is_there(const std::string& path, FileSystem& files) {
  FileStatus status;
  if (files.look(path, status) == 0) return true;
  if (errno != ENOENT) fail(path, "cannot look", errno);
  return false;
}

std::int64_t step_of(const std::string& name) { return std::stoll(name.substr(kPrefix.size())); }

void write_durably(const std::string& path, const std::string& text, FileSystem& files) {
  DurableFile file(path, files);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}

// What broken saves left behind.
void remove_torn(const std::string& root, FileSystem& files) {
  for (const std::string& name : names_in(root, files)) {
    const bool torn = is_unfinished_name(name) || name.starts_with(std::string(kLatest) + ".");
    if (torn) abandon_checkpoint(root + "/" + name, files);
  }
}

// What stands in LATEST, or nothing with a remark.
std::string latest_name(const std::string& root, std::string& remark, FileSystem& files) {
  const std::string path = root + "/" + kLatest;
  try {
    if (!is_there(path, files)) return "";
    std::string text = read_text(path, 256, files);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (is_checkpoint_name(text)) return text;
    remark = fmt::format("{}: names no checkpoint", path);
  } catch (const ConfigError& e) {
    remark = e.what();
  }
  return "";
}

void make_root(const std::string& root, FileSystem& files) {
  std::vector<std::string> missing;  // innermost first
  std::string folder = root;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  while (!folder.empty() && !is_there(folder, files)) {
    missing.push_back(folder);
    const std::size_t slash = folder.rfind('/');
    folder = slash == std::string::npos ? "" : folder.substr(0, slash);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    if (files.make_folder(*it) != 0 && errno != EEXIST) fail(*it, "cannot be made", errno);
    const std::size_t slash = it->rfind('/');
    // A new folder's name lasts once the folder around it is synchronised.
    sync_folder(slash == std::string::npos ? "." : slash == 0 ? "/" : it->substr(0, slash), files);
  }
}

// All but the `keep` newest. Under its name a checkpoint is whole, also while it is being removed:
// so the new names last before anything of the old ones goes.
void remove_old(const std::string& root, int keep, int step, FileSystem& files) {
  std::string ignored;
  const std::vector<std::string> all = checkpoints_in(root, ignored, files);
  bool any = false;
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    const std::string old = root + "/" + all[i];
    any |= files.rename(old, old + std::string(kUnfinished) + "old", RenameHow::replace) == 0;
  }
  if (any) sync_folder(root, files);
  if (any) failpoint("ckpt.removing", 0, step);
  remove_torn(root, files);
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

Manifest open_checkpoint(const std::string& folder, FileSystem& files) {
  const std::string path = folder + "/" + kManifest;
  Manifest manifest = read_manifest(read_text(path, kMaxSafetensorsHeader, files), path);
  for (const SavedFile& file : manifest.files) {
    if (is_file_name(file.name)) continue;
    throw_config_error(ExitCode::bad_file, path, "files", "a file outside of the checkpoint");
  }
  return manifest;
}

void verify_file(const std::string& folder, const SavedFile& expected, FileSystem& files) {
  const std::string path = folder + "/" + expected.name;
  const auto fail_verification = [&](const std::string& what) {
    throw_config_error(ExitCode::verification, path, "", what);
  };
  FileStatus status;
  const bool there = files.look(path, status) == 0;
  if (!there && errno != ENOENT) fail(path, "cannot look", errno);
  if (!there || status.kind != FileStatus::Kind::regular) {
    fail_verification("is missing, or no regular file");
  }
  const ReadFile file(path, files);
  if (file.size() != expected.bytes) {
    fail_verification(fmt::format("has {} bytes, {} were saved", file.size(), expected.bytes));
  }
  Digest digest;
  std::vector<std::byte> room(std::min(file.size(), kReadBytes));
  for (std::uint64_t at = 0; at < file.size(); at += room.size()) {
    const auto part = std::span(room).first(std::min<std::uint64_t>(room.size(), file.size() - at));
    file.read(at, part);
    digest.add(part);
  }
  if (digest.hex() != expected.digest) {
    fail_verification("its bytes are not those that were saved");
  }
}

std::vector<std::string> checkpoints_in(const std::string& root, std::string& remark,
                                        FileSystem& files) {
  std::vector<std::string> names = names_in(root, files);
  std::erase_if(names, [](const std::string& name) { return !is_checkpoint_name(name); });
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return step_of(a) > step_of(b); });
  const std::string latest = latest_name(root, remark, files);
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

std::string begin_checkpoint(const std::string& root, std::int64_t step, FileSystem& files) {
  constexpr int kAttempts = 1000;  // names of folders that could not be removed are passed over
  failpoint("ckpt.before_folder", 0, static_cast<int>(step));
  std::string folder;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    folder = fmt::format("{}/{}{}{}", root, checkpoint_name(step), kUnfinished, attempt);
    if (files.make_folder(folder) == 0) break;
    if (errno != EEXIST || attempt + 1 == kAttempts) fail(folder, "cannot make the folder", errno);
  }
  failpoint("ckpt.after_folder", 0, static_cast<int>(step));
  return folder;
}

void complete_checkpoint(const std::string& written, const Manifest& m, FileSystem& files) {
  const int step = static_cast<int>(m.state.step);
  failpoint("ckpt.before_manifest", 0, step);
  write_durably(written + "/" + kManifest, write_manifest(m), files);
  sync_folder(written, files);
  failpoint("ckpt.after_manifest", 0, step);
}

void commit_checkpoint(const std::string& root, const std::string& written, std::int64_t of_step,
                       int keep, FileSystem& files) {
  const int step = static_cast<int>(of_step);
  const std::string name = checkpoint_name(of_step), final_path = root + "/" + name;
  failpoint("ckpt.before_rename", 0, step);
  // It may be there: this run repeats steps after an older checkpoint. Then the two change places.
  const bool replaces = is_there(final_path, files);
  if (files.rename(written, final_path, replaces ? RenameHow::exchange : RenameHow::fresh) != 0) {
    const int error = errno;
    abandon_checkpoint(written, files);
    fail(written, "cannot rename", error);
  }
  failpoint("ckpt.after_rename", 0, step);
  sync_folder(root, files);
  failpoint("ckpt.before_latest", 0, step);
  write_durably(root + "/" + kLatest, name + "\n", files);
  sync_folder(root, files);
  failpoint("ckpt.after_latest", 0, step);
  remove_old(root, keep, step, files);
  failpoint("ckpt.done", 0, step);
}

void replace_checkpoint(const std::string& root, const std::string& written, std::int64_t step,
                        FileSystem& files) {
  const std::string final_path = root + "/" + checkpoint_name(step);
  if (files.rename(written, final_path, RenameHow::exchange) != 0) {
    const int error = errno;
    abandon_checkpoint(written, files);
    fail(written, "cannot rename", error);
  }
  sync_folder(root, files);
  abandon_checkpoint(written, files);
}

void abandon_checkpoint(const std::string& written, FileSystem& files) noexcept {
  try {
    FileStatus status;
    if (files.look(written, status) < 0) return;
    if (status.kind != FileStatus::Kind::folder) {
      files.remove_file(written);
      return;
    }
    for (const std::string& name : names_in(written, files)) {
      abandon_checkpoint(written + "/" + name, files);
    }
    files.remove_folder(written);
  } catch (const std::exception&) {
    // The next save or the next job tries again.
  }
}

void prepare_root(const std::string& root, FileSystem& files) {
  make_root(root, files);
  sync_folder(root, files);  // what is unfinished by name may be what a lost rename brings back
  remove_torn(root, files);
}

SaveLock::SaveLock(const std::string& root) {
  make_root(root, real_files());
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
  prepare_root(root, real_files());
}

SaveLock::~SaveLock() { ::close(fd_); }

}  // namespace pleat
