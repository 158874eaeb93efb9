// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dependencies by tensor: a reader follows the writer, a writer all that came before.
#include "core/program/op_graph.hpp"

#include <algorithm>

namespace pleat {

Dependencies dependencies(std::span<const Op> ops) {
  std::size_t tensors = 0;
  for (const Op& op : ops) {
    for (const auto* ids : {&op.in, &op.out}) {
      for (TensorId t : *ids) tensors = std::max(tensors, t.index() + 1);
    }
  }
  // Reads since the last write: of each tensor a chain through `reads`, the newest first.
  struct Read {
    int op, next;
  };
  std::vector<Read> reads;
  std::vector<int> last_write(tensors, -1), last_read(tensors, -1);
  Dependencies deps;
  deps.reserve(ops.size());
  std::vector<int> mine;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int self = static_cast<int>(i);
    mine.clear();
    for (TensorId t : ops[i].in) {
      const std::size_t at = t.index();
      if (last_write[at] >= 0) mine.push_back(last_write[at]);
      reads.push_back({self, last_read[at]});
      last_read[at] = static_cast<int>(reads.size()) - 1;
    }
    for (TensorId t : ops[i].out) {
      const std::size_t at = t.index();
      if (last_write[at] >= 0) mine.push_back(last_write[at]);
      for (int r = last_read[at]; r >= 0; r = reads[static_cast<std::size_t>(r)].next) {
        mine.push_back(reads[static_cast<std::size_t>(r)].op);
      }
      last_write[at] = self;
      last_read[at] = -1;
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    std::erase(mine, self);
    deps.add(mine);
  }
  return deps;
}

}  // namespace pleat
