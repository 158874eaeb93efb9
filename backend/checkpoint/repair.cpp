// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/digest.hpp"
#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/safetensors.hpp"
#include "backend/checkpoint/shard_reader.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {
namespace {

constexpr std::uint64_t kCompareBytes = std::uint64_t{4} << 20;  // at once

// The text of an error, on one line and without the word.
bool is_shard(const SavedFile& file) { return file.name.ends_with(".safetensors"); }

// Runs a check; what it throws is a fault.
void note_fault(std::vector<std::string>& faults, const std::function<void()>& check) {
  try {
    check();
  } catch (const ConfigError& e) {
    faults.push_back(one_line(e));
  }
}

std::vector<std::string> faults_of(const std::string& folder, const Manifest& manifest,
                                   FileSystem& files) {
  std::vector<std::string> faults;
  for (const SavedFile& file : manifest.files) {
    note_fault(faults, [&] {
      verify_file(folder, file, files);
      const std::string path = folder + "/" + file.name;
      if (is_shard(file)) static_cast<void>(Safetensors(path, files));
      else if (file.name == kPlanFile) {
        static_cast<void>(read_plan_document(read_text(path, kMaxFileBytes, files), path));
      }
    });
  }
  if (!faults.empty()) return faults;  // the tensors' would follow from these
  ShardReader reader(folder, manifest, files);
  for (const auto& [name, saved] : manifest.tensors) {
    note_fault(faults, [&, &name = name, &saved = saved] {
      const KeptTensor whole{name, saved.type, saved.elements, {{0, saved.elements, nullptr}}};
      reader.require(whole, name);
    });
  }
  return faults;
}

// The entries of a shard, each name's first, and what is to be said of the others.
struct Shard {
  Safetensors file;
  std::vector<TensorEntry> kept;
  std::vector<std::string> remedies, hopeless;

  Shard(const std::string& path, FileSystem& files)
      : file(path, files, DuplicateNames::kept) {
    for (const TensorEntry& entry : file.tensors()) {
      const auto first = std::find_if(kept.begin(), kept.end(),
                                      [&](const TensorEntry& k) { return k.name == entry.name; });
      if (first == kept.end()) {
        kept.push_back(entry);
        continue;
      }
      const std::string where = fmt::format("{}: {}", path, entry.name);
      const std::string difference = difference_of(*first, entry);
      if (difference.empty()) {
        remedies.push_back(fmt::format("{}: a second copy of {} bytes, equal to the first", where,
                                       entry.end - entry.begin));
      } else {
        hopeless.push_back(fmt::format("{}: {}", where, difference));
      }
    }
  }

  [[nodiscard]] std::string difference_of(const TensorEntry& a, const TensorEntry& b) const {
    if (a.type != b.type || a.shape != b.shape) return "two copies of different shapes or types";
    const std::uint64_t bytes = a.end - a.begin;
    std::vector<std::byte> first(std::min(bytes, kCompareBytes)), second(first.size());
    for (std::uint64_t at = 0; at < bytes; at += first.size()) {
      const std::uint64_t n = std::min<std::uint64_t>(first.size(), bytes - at);
      file.read(a, at, std::span(first).first(n));
      file.read(b, at, std::span(second).first(n));
      const auto end = first.begin() + static_cast<std::ptrdiff_t>(n);
      const auto unequal = std::mismatch(first.begin(), end, second.begin()).first;
      if (unequal != end) {
        return fmt::format("two copies that differ, first in byte {}",
                           at + static_cast<std::uint64_t>(unequal - first.begin()));
      }
    }
    return "";
  }
};

// A file that is written and digested at once.
class CountedFile {
 public:
  CountedFile(const std::string& path, FileSystem& files) : file_(path, files) {}
  void append(std::span<const std::byte> bytes) {
    file_.append(bytes);
    digest_.add(bytes);
  }
  SavedFile commit(const std::string& name) {
    file_.commit();
    return {name, file_.size(), digest_.hex()};
  }

 private:
  DurableFile file_;
  Digest digest_;
};

SavedFile copy_file(const std::string& from, const std::string& to, const std::string& name,
                    FileSystem& files) {
  const ReadFile source(from, files);
  CountedFile copy(to, files);
  std::vector<std::byte> room(std::min(source.size(), kCompareBytes));
  for (std::uint64_t at = 0; at < source.size(); at += room.size()) {
    const auto part =
        std::span(room).first(std::min<std::uint64_t>(room.size(), source.size() - at));
    source.read(at, part);
    copy.append(part);
  }
  return copy.commit(name);
}

SavedFile write_shard(const Shard& shard, const std::string& to, const std::string& name,
                      FileSystem& files) {
  std::vector<TensorEntry> entries = shard.kept;  // their offsets become the new file's
  const std::string header = make_safetensors_header(entries, shard.file.metadata());
  CountedFile copy(to, files);
  copy.append(std::as_bytes(std::span(header)));
  std::vector<std::byte> room;
  for (const TensorEntry& old : shard.kept) {
    const std::uint64_t bytes = old.end - old.begin;
    for (std::uint64_t at = 0; at < bytes; at += room.size()) {
      room.resize(std::min(kCompareBytes, bytes - at));
      shard.file.read(old, at, room);
      copy.append(room);
    }
  }
  return copy.commit(name);
}

}  // namespace

std::vector<std::string> faults_of_checkpoint(const std::string& folder, FileSystem& files) {
  std::vector<std::string> faults;
  note_fault(faults,
             [&] { faults = faults_of(folder, open_checkpoint(folder, files), files); });
  return faults;
}

Repair plan_repair(const std::string& folder, FileSystem& files) {
  Repair repair;
  repair.faults = faults_of_checkpoint(folder, files);
  if (!repair.is_needed()) return repair;
  note_fault(repair.hopeless, [&] {
    const Manifest manifest = open_checkpoint(folder, files);
    for (const SavedFile& file : manifest.files) {
      note_fault(repair.hopeless, [&] {
        verify_file(folder, file, files);
        if (!is_shard(file)) return;
        const Shard shard(folder + "/" + file.name, files);
        repair.remedies.insert(repair.remedies.end(), shard.remedies.begin(), shard.remedies.end());
        repair.hopeless.insert(repair.hopeless.end(), shard.hopeless.begin(), shard.hopeless.end());
      });
    }
  });
  if (repair.remedies.empty() && repair.hopeless.empty()) repair.hopeless = repair.faults;
  return repair;
}

void write_repaired(const std::string& folder, FileSystem& files) {
  const Repair repair = plan_repair(folder, files);
  if (!repair.is_possible()) {
    throw_config_error(ExitCode::verification, folder, "", "cannot be mended",
                       "an older checkpoint");
  }
  const std::string root =
      std::filesystem::absolute(folder).lexically_normal().parent_path().string();
  const SaveLock lock(root);
  Manifest manifest = open_checkpoint(folder, files);
  const std::string written = begin_checkpoint(root, manifest.state.step, files);
  try {
    for (SavedFile& file : manifest.files) {
      const std::string from = folder + "/" + file.name, to = written + "/" + file.name;
      file = is_shard(file) ? write_shard(Shard(from, files), to, file.name, files)
                            : copy_file(from, to, file.name, files);
    }
    complete_checkpoint(written, manifest, files);
    const std::vector<std::string> left = faults_of_checkpoint(written, files);
    if (!left.empty()) throw_config_error(ExitCode::verification, folder, "", left.front());
  } catch (...) {
    abandon_checkpoint(written, files);
    throw;
  }
  replace_checkpoint(root, written, manifest.state.step, files);
}

}  // namespace pleat
