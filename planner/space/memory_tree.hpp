// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which memory choices give up more than others, and in which order a search tries them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/space/memory_choice.hpp"

namespace pleat {

class MemoryTree {
 public:
  explicit MemoryTree(const std::vector<MemoryChoice>&);

  // The choices to try when `choice` does not fit. Each stands below one other, all in the end below
  // the first, and cannot be faster than that: it recomputes more, or offloads where the other keeps.
  // Choices that both offload are not compared: what is recomputed is not sent.
  [[nodiscard]] const std::vector<std::int16_t>& below(int choice) const;
  // The choice itself and all below it.
  [[nodiscard]] std::int64_t plans_below(int choice) const;

  // Why a plan need not be listed beside one of the same mesh that is as fast: "variant" of the same
  // choice, "needless" when it gives up all that the other does and more; else null.
  [[nodiscard]] const char* supersedes(int listed, int other) const;

 private:
  std::vector<std::vector<std::int16_t>> below_;
  std::vector<std::int64_t> plans_;
  std::vector<std::vector<bool>> gives_up_less_;  // [a][b]: a less than b
};

}  // namespace pleat
