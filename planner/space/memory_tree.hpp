// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which memory choices save more than others, and in which order a search tries them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/space/memory_choice.hpp"

namespace pleat {

class MemoryTree {
 public:
  explicit MemoryTree(const std::vector<MemoryChoice>&);

  // The choices to try when `choice` does not fit: its children in a tree whose root is the first
  // choice. A child is never faster than its parent, because it recomputes more, or offloads what
  // the parent keeps. Two choices that both offload are not ordered: more recompute means less to
  // send.
  [[nodiscard]] const std::vector<std::int16_t>& below(int choice) const;
  // The choice itself and all below it.
  [[nodiscard]] std::int64_t plans_below(int choice) const;

  // Why the choice `other` is not listed beside the listed plan of the same mesh that is as fast:
  // "variant" if the choices are equal, "over-saving" if `other` saves all that the listed one does
  // and more; else null.
  [[nodiscard]] const char* supersedes(int listed, int other) const;

 private:
  std::vector<std::vector<std::int16_t>> below_;
  std::vector<std::int64_t> plans_;
  std::vector<std::vector<bool>> gives_up_less_;  // [a][b]: a saves less than b
};

}  // namespace pleat
