// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Places of copies in expert order, in two passes over runs of copies, a warp each: how many copies
// of each expert a run has, then, past the runs before it, where each copy goes.
struct PermuteMap {
  std::int64_t runs = 0, run_copies = 0;
  int* before =
      nullptr;  // [runs, experts]: rows that earlier runs fill; all of an expert's in the end
  int* filled = nullptr;  // [experts]: rows that some copy fills
  int* begin = nullptr;   // [experts]: an expert's first row

  static PermuteMap sized(std::int64_t copies);
  [[nodiscard]] std::size_t scratch_bytes(std::int64_t experts) const;
};

// row_map[i] = the row of copy i, in the order of the experts [first, first + counts) and within
// one in the order of the copies; -1 where it has none. begin and filled for all of counts.
void make_permute_map(const Resources&, View experts, View counts, std::int64_t first,
                      View row_map, const PermuteMap&);

}  // namespace pleat::cuda
