// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often each name was given to a tensor of a layer. A search builds layers by the ten thousand,
// so this is a hash table in one piece of memory, which does not copy names.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/program/tensor.hpp"

namespace pleat {

class UsedNames {
 public:
  explicit UsedNames(std::size_t expected) : slots_(slots_for(expected)) {}

  // How often `name` was asked for, this time included. The first time it becomes that of the
  // tensor which is next in `tensors`.
  int count(std::string_view name, const std::vector<Tensor>& tensors) {
    if (slots_.size() < slots_for(used_ + 1)) grow();
    const std::size_t hash = std::hash<std::string_view>{}(name);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].times > 0 &&
           (slots_[at].hash != hash || tensors[slots_[at].first].name != name)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    if (slots_[at].times == 0) {
      slots_[at] = {hash, tensors.size(), 0};
      ++used_;
    }
    return ++slots_[at].times;
  }

 private:
  struct Slot {
    std::size_t hash = 0, first = 0;  // first: the tensor that has the name itself
    int times = 0;                    // 0: an empty slot
  };

  // A power of two of which at most half is used.
  static std::size_t slots_for(std::size_t names) {
    std::size_t slots = 16;
    while (slots < 2 * names) slots *= 2;
    return slots;
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.times == 0) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].times > 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace pleat
