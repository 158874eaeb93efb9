// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A file system in memory that keeps only what POSIX promises: what was not synchronised may be
// lost or torn by a power cut, names of a folder as well as bytes of a file.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backend/checkpoint/file_system.hpp"

namespace pleat::test {

using Bytes = std::shared_ptr<const std::string>;
using Tree = std::map<std::string, Bytes>;  // by path; null: a folder

class SimulatedFiles final : public FileSystem {
 public:
  struct Node {
    bool folder = false, clean = true;
    Bytes data = std::make_shared<const std::string>(), durable = data;
    std::map<std::string, int> names, durable_names;
    std::vector<std::map<std::string, int>> pending;  // changes of names, each atomic; -1: gone
  };
  using Nodes = std::vector<Node>;

  // `arrive` sees each call before it has its turn, and may hold it up; calls of several threads
  // then come one after the other. `before` sees each in its turn, with its kind and path. Not
  // zero: the call fails with this error (kShort: a write puts half; kNothing: it says it is done,
  // and is not).
  std::function<void(const std::string& kind, const std::string& path)> arrive;
  static constexpr int kShort = -1, kNothing = -2;
  std::function<int(const std::string& kind, const std::string& path)> before;
  // May change what a write puts.
  std::function<void(const std::string& path, std::string& bytes)> alter;

  explicit SimulatedFiles(const Tree& tree = {{"/", nullptr}});
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  // Whether a file or folder of an unfinished save was opened to be read.
  [[nodiscard]] bool unfinished_was_opened() const {
    const std::lock_guard lock(mutex_);
    return unfinished_was_opened_;
  }

  int create(const std::string& path) override;
  int open(const std::string& path) override;
  ssize_t write(int file, std::span<const std::byte>) override;
  ssize_t read(int file, std::span<std::byte>, std::uint64_t offset) override;
  int status(int file, FileStatus&) override;
  int synchronise(int file) override;
  int close(int file) override;
  int look(const std::string& path, FileStatus&) override;
  int rename(const std::string& from, const std::string& to, RenameHow) override;
  int remove_file(const std::string& path) override;
  int make_folder(const std::string& path) override;
  int remove_folder(const std::string& path) override;
  int list(const std::string& path, std::vector<std::string>& names) override;

 private:
  int ask(std::unique_lock<std::mutex>& lock, const std::string& kind, const std::string& path) {
    if (arrive) {
      lock.unlock();
      arrive(kind, path);
      lock.lock();
    }
    return before ? before(kind, path) : 0;
  }
  int find(const std::string& path) const;
  int change(const std::string& folder, const std::map<std::string, int>& names);

  mutable std::mutex mutex_;
  bool unfinished_was_opened_ = false;
  Nodes nodes_;
  std::map<int, std::pair<int, std::string>> open_;
  int next_ = 3;
};

// Every disk that a power cut may leave: with any of the changes of names that were not
// synchronised, and of a file that was not with all, nothing or a part of its new bytes. Files in
// the folder of an unfinished save have their durable bytes: no reader opens them (the tests see to
// that), so that others would change nothing.
[[nodiscard]] std::set<Tree> after_power_cut(const SimulatedFiles::Nodes&);

}  // namespace pleat::test
