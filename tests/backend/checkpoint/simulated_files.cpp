// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/backend/checkpoint/simulated_files.hpp"

#include <algorithm>
#include <cstring>

namespace pleat::test {
namespace {

std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}
std::string leaf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int failed(int error) {
  errno = error;
  return -1;
}

void apply(std::map<std::string, int>& names, const std::map<std::string, int>& change) {
  for (const auto& [name, node] : change) {
    if (node < 0) names.erase(name);
    else names[name] = node;
  }
}

using Nodes = SimulatedFiles::Nodes;

std::set<std::map<std::string, int>> possible_names(const SimulatedFiles::Node& folder) {
  std::set<std::map<std::string, int>> all{folder.durable_names};
  for (const auto& change : folder.pending) {
    std::set<std::map<std::string, int>> with;
    for (std::map<std::string, int> names : all) {
      apply(names, change);
      with.insert(std::move(names));
    }
    all.merge(with);
  }
  return all;
}

// What was durable; all of the new bytes; a part of them, ended anywhere in a small file and at
// every sector of a large one, and with zeros behind it, too.
std::vector<Bytes> possible_bytes(const SimulatedFiles::Node& file) {
  if (file.data == file.durable) return {file.durable};
  constexpr std::size_t kSmall = 64, kSector = 512;
  const std::string& now = *file.data;
  std::vector<Bytes> all{file.durable, file.data};
  const auto put = [&](std::string text) {
    all.push_back(std::make_shared<const std::string>(std::move(text)));
  };
  for (std::size_t n = 0; n < now.size(); n += now.size() <= kSmall ? 1 : kSector) {
    put(now.substr(0, n));
    put(now.substr(0, n) + std::string(now.size() - n, '\0'));
  }
  put(now.substr(0, now.size() - 1));
  return all;
}

std::vector<Tree> below(const Nodes& nodes, int at, const std::string& path) {
  const SimulatedFiles::Node& node = nodes[static_cast<std::size_t>(at)];
  std::vector<Tree> trees;
  if (!node.folder) {
    for (const Bytes& bytes : possible_bytes(node)) trees.push_back({{path, bytes}});
    return trees;
  }
  if (path.find(".tmp.") != std::string::npos) {
    for (const auto& names : possible_names(node)) {
      Tree tree{{path, nullptr}};
      for (const auto& [name, child] : names) {
        tree[path + "/" + name] = nodes[static_cast<std::size_t>(child)].durable;
      }
      trees.push_back(std::move(tree));
    }
    return trees;
  }
  for (const auto& names : possible_names(node)) {
    std::vector<Tree> product{{{path, nullptr}}};
    for (const auto& [name, child] : names) {
      std::vector<Tree> more;
      for (const Tree& one : below(nodes, child, (path == "/" ? "" : path) + "/" + name)) {
        for (Tree tree : product) {
          tree.insert(one.begin(), one.end());
          more.push_back(std::move(tree));
        }
      }
      product = std::move(more);
    }
    trees.insert(trees.end(), product.begin(), product.end());
  }
  return trees;
}

}  // namespace

std::set<Tree> after_power_cut(const Nodes& nodes) {
  const std::vector<Tree> trees = below(nodes, 0, "/");
  return {trees.begin(), trees.end()};
}

SimulatedFiles::SimulatedFiles(const Tree& tree) {
  for (const auto& [path, bytes] : tree) {  // folders come before what is in them
    Node node;
    node.folder = bytes == nullptr;
    if (bytes) node.data = node.durable = bytes;
    nodes_.push_back(node);
    if (path == "/") continue;
    Node& around = nodes_[static_cast<std::size_t>(find(parent(path)))];
    around.names[leaf(path)] = around.durable_names[leaf(path)] =
        static_cast<int>(nodes_.size()) - 1;
  }
}

int SimulatedFiles::find(const std::string& path) const {
  int at = 0;
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto& names = nodes_[static_cast<std::size_t>(at)].names;
    const auto found = names.find(path.substr(begin, end - begin));
    if (found == names.end()) return -1;
    at = found->second;
    begin = end + 1;
  }
  return at;
}

int SimulatedFiles::change(const std::string& folder, const std::map<std::string, int>& names) {
  const int at = find(folder);
  if (at < 0) return failed(ENOENT);
  Node& node = nodes_[static_cast<std::size_t>(at)];
  apply(node.names, names);
  node.pending.push_back(names);
  return 0;
}

int SimulatedFiles::create(const std::string& path) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "create", path)) return failed(error);
  nodes_.emplace_back();
  const int at = static_cast<int>(nodes_.size()) - 1;
  if (change(parent(path), {{leaf(path), at}}) < 0) return -1;
  open_[next_] = {at, path};
  return next_++;
}

int SimulatedFiles::open(const std::string& path) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "open", path)) return failed(error);
  unfinished_was_opened_ |= path.find(".tmp.") != std::string::npos;
  const int at = find(path);
  if (at < 0) return failed(ENOENT);
  open_[next_] = {at, path};
  return next_++;
}

ssize_t SimulatedFiles::write(int file, std::span<const std::byte> bytes) {
  std::unique_lock lock(mutex_);
  const auto& [at, path] = open_.at(file);
  const int error = ask(lock, "write", path);
  if (error > 0) return failed(error);
  const std::size_t whole = bytes.size();
  if (error != 0) bytes = bytes.first(whole / 2);
  Node& node = nodes_[static_cast<std::size_t>(at)];
  std::string put(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (alter) alter(path, put);
  node.data = std::make_shared<const std::string>(*node.data + put);
  return static_cast<ssize_t>(error == kNothing ? whole : bytes.size());
}

ssize_t SimulatedFiles::read(int file, std::span<std::byte> out, std::uint64_t offset) {
  std::unique_lock lock(mutex_);
  const auto& [at, path] = open_.at(file);
  if (const int error = ask(lock, "read", path)) return failed(error);
  const std::string& data = *nodes_[static_cast<std::size_t>(at)].data;
  const std::size_t n = offset < data.size() ? std::min(out.size(), data.size() - offset) : 0;
  if (n > 0) std::memcpy(out.data(), data.data() + offset, n);
  return static_cast<ssize_t>(n);
}

int SimulatedFiles::status(int file, FileStatus& status) {
  std::unique_lock lock(mutex_);
  const Node& node = nodes_[static_cast<std::size_t>(open_.at(file).first)];
  status = {node.folder ? FileStatus::Kind::folder : FileStatus::Kind::regular, node.data->size()};
  return 0;
}

// One that fails leaves the pages clean: a later one will not write what this one lost.
int SimulatedFiles::synchronise(int file) {
  std::unique_lock lock(mutex_);
  const auto& [at, path] = open_.at(file);
  const int error = ask(lock, "synchronise", path);
  if (error == kNothing) return 0;
  Node& node = nodes_[static_cast<std::size_t>(at)];
  if (error != 0) {
    node.clean = false;
    return failed(error);
  }
  if (node.clean) node.durable = node.data;
  node.durable_names = node.names;
  node.pending.clear();
  return 0;
}

int SimulatedFiles::close(int file) {
  std::unique_lock lock(mutex_);
  open_.erase(file);
  return 0;
}

int SimulatedFiles::look(const std::string& path, FileStatus& status) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "look", path)) return failed(error);
  const int at = find(path);
  if (at < 0) return failed(ENOENT);
  const Node& node = nodes_[static_cast<std::size_t>(at)];
  status = {node.folder ? FileStatus::Kind::folder : FileStatus::Kind::regular, node.data->size()};
  return 0;
}

int SimulatedFiles::rename(const std::string& from, const std::string& to, RenameHow how) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "rename", from)) return failed(error);
  const int source = find(from), target = find(to);
  if (source < 0) return failed(ENOENT);
  if (how == RenameHow::fresh && target >= 0) return failed(EEXIST);
  return change(parent(from), {{leaf(to), source},
                               {leaf(from), how == RenameHow::exchange ? target : -1}});
}

int SimulatedFiles::remove_file(const std::string& path) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "remove", path)) return failed(error);
  if (find(path) < 0) return failed(ENOENT);
  return change(parent(path), {{leaf(path), -1}});
}

int SimulatedFiles::make_folder(const std::string& path) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "make_folder", path)) return failed(error);
  if (find(path) >= 0) return failed(EEXIST);
  nodes_.emplace_back();
  nodes_.back().folder = true;
  return change(parent(path), {{leaf(path), static_cast<int>(nodes_.size()) - 1}});
}

int SimulatedFiles::remove_folder(const std::string& path) {
  std::unique_lock lock(mutex_);
  if (const int at = find(path); at >= 0 && !nodes_[static_cast<std::size_t>(at)].names.empty()) {
    return failed(ENOTEMPTY);
  }
  lock.unlock();
  return remove_file(path);
}

int SimulatedFiles::list(const std::string& path, std::vector<std::string>& names) {
  std::unique_lock lock(mutex_);
  if (const int error = ask(lock, "list", path)) return failed(error);
  const int at = find(path);
  if (at < 0) return failed(ENOENT);
  for (const auto& [name, node] : nodes_[static_cast<std::size_t>(at)].names) names.push_back(name);
  return 0;
}

}  // namespace pleat::test
