// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sizes of a job that are tried on a cluster.
#pragma once

#include <vector>

#include "core/spec/cluster.hpp"

namespace pleat {

struct SizeRange {
  int least = 256, most = 16'384;
  int step = 0;                 // only multiples of it; 0: doublings, as below
  std::vector<int> exact = {};  // only these sizes; empty: all of the range
};

// Ascending; may be empty. Doublings are the powers of two in the range, and powers of two times
// the innermost network domain (a node or an NVL72 rack): 72, 144, 288.
[[nodiscard]] std::vector<int> sizes_to_try(const SizeRange&, const ClusterSpec&);

}  // namespace pleat
