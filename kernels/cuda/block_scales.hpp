// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The scales of a quantised matrix in device memory, and which block a row belongs to. Sizes of
// groups lie there too, so the host knows only how many blocks there are at most.
#pragma once

#include <memory>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Pointers into the memory below.
struct BlockTable {
  std::int64_t rows = 0, cols = 0, block_cols = 1, blocks_in_row = 0;
  std::int64_t block_rows = 0;           // 0: all of a group's
  bool regular = false;                  // one group: row r is in strip r / block_rows
  bool whole_groups = false;             // a block is all of a group, `group_of` says which
  std::int64_t groups = 0;               // that it was quantised in; 0: not known
  std::int64_t most_blocks = 0;          // strips of rows, at most
  std::int32_t* block_of_row = nullptr;  // [rows]
  std::int32_t* first_row = nullptr;     // [most_blocks] of each strip
  std::int32_t* group_of = nullptr;      // [most_blocks]
  std::int32_t* blocks = nullptr;        // [1] strips there are
  float* scales = nullptr;               // [most_blocks, blocks_in_row]
  float* group_scales = nullptr;         // [most_blocks]
};

struct DeviceScales {
  KeptBlocks::Block memory;
  BlockTable table;
};

// Makes y.scales describe `q` of y's rows in the groups of `counts` (no data: one), with the scales
// themselves still to be written. Memory of an earlier call is used again.
[[nodiscard]] BlockTable describe_blocks(Resources&, View counts, View y, const Quantization& q);

// Of a matrix that was quantised here, or whose scales write_scales brought here.
[[nodiscard]] const BlockTable& blocks_of_matrix(View y);

// [groups + 1] first rows of the groups, the last is `rows`.
void first_rows(const Resources&, View counts, std::int64_t rows, std::int32_t* first);

// Strips of `height` rows (0: all of the group's) of each group, which an empty one has none of:
// first_strip[groups], the first ones; strips[1], how many there are.
void first_strips(const Resources&, const std::int32_t* first_row, std::int64_t groups,
                  std::int64_t height, std::int32_t* first_strip, std::int32_t* strips);

}  // namespace pleat::cuda
