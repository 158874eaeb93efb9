// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The dependency graph of an operation list.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/program/op.hpp"

namespace pleat {

// Of each operation the earlier ones that it must follow, in order.
class Dependencies {
 public:
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const int> operator[](std::size_t op) const {
    const std::size_t begin = op == 0 ? 0 : ends_[op - 1];
    return std::span(all_).subspan(begin, ends_[op] - begin);
  }
  void reserve(std::size_t ops) {
    ends_.reserve(ops);
    all_.reserve(4 * ops);
  }
  void add(std::span<const int> of_next_op) {
    all_.insert(all_.end(), of_next_op.begin(), of_next_op.end());
    ends_.push_back(all_.size());
  }

 private:
  std::vector<int> all_;
  std::vector<std::size_t> ends_;  // in all_, by operation
};

// An operation follows those that wrote what it reads, and those that read or wrote what it
// overwrites.
[[nodiscard]] Dependencies dependencies(std::span<const Op> ops);

}  // namespace pleat
