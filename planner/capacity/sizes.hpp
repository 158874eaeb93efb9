// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sizes of a job that are tried on a cluster.
#pragma once

#include <vector>

#include "core/spec/cluster.hpp"

namespace pleat {

struct SizeRange {
  int least = 256, most = 16'384;
  int step = 0;            // multiples of this; 0: doublings
  std::vector<int> exact = {};  // not empty: only these
};

// Ascending. Doublings: powers of two in the range, and the innermost domain (node, NVL72 rack) times
// powers of two, which is the same where a domain is a power of two. May be empty.
[[nodiscard]] std::vector<int> sizes_to_try(const SizeRange&, const ClusterSpec&);

}  // namespace pleat
