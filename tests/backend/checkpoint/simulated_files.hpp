// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A file system in memory that keeps only what POSIX promises: what was not synchronised may be
// lost or torn by a power cut, names of a folder as well as bytes of a file.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
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

  // Calls are counted from 0; `before` sees each one, with its kind and path. Not zero: the call
  // fails with this error (kShort: a write puts half; kNothing: it says it is done, and is not).
  static constexpr int kShort = -1, kNothing = -2;
  std::function<int(const std::string& kind, const std::string& path)> before;
  // May change what a write puts.
  std::function<void(const std::string& path, std::string& bytes)> alter;

  explicit SimulatedFiles(const Tree& tree = {{"/", nullptr}});
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }

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
  int ask(const std::string& kind, const std::string& path) {
    return before ? before(kind, path) : 0;
  }
  int find(const std::string& path) const;
  int change(const std::string& folder, const std::map<std::string, int>& names);

  Nodes nodes_;
  std::map<int, std::pair<int, std::string>> open_;
  int next_ = 3;
};

// Every disk that a power cut may leave: any of the changes of names that were not synchronised,
// and of a file that was not all, nothing, a part or zeros. In folders of unfinished saves, whose
// bytes nobody reads, only the first.
[[nodiscard]] std::set<Tree> after_power_cut(const SimulatedFiles::Nodes&);

}  // namespace pleat::test
