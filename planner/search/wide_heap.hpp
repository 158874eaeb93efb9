// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A priority queue of large size: a heap whose nodes have four children, which lie next to each
// other. So it is half as deep as one of two, and looks at half as many cache lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pleat {

// before(a, b): `a` comes out before `b`. A total order, so that equal queues empty alike.
template <class T, class Before>
class WideHeap {
 public:
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] const std::vector<T>& items() const { return items_; }  // in no order
  [[nodiscard]] const T& top() const { return items_.front(); }

  void push(const T& item) {
    std::size_t at = items_.size();
    items_.push_back(item);
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!Before{}(item, items_[parent])) break;
      items_[at] = items_[parent];
      at = parent;
    }
    items_[at] = item;
  }

  void pop() {
    const T last = items_.back();
    items_.pop_back();
    const std::size_t count = items_.size();
    if (count == 0) return;
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = kChildren * at + 1;
      if (first >= count) break;
      std::size_t best = first;
      const std::size_t end = std::min(first + kChildren, count);
      for (std::size_t child = first + 1; child < end; ++child) {
        if (Before{}(items_[child], items_[best])) best = child;
      }
      if (!Before{}(items_[best], last)) break;
      items_[at] = items_[best];
      at = best;
    }
    items_[at] = last;
  }

 private:
  static constexpr std::size_t kChildren = 4;
  std::vector<T> items_;
};

}  // namespace pleat
