// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrices in codes of 8 or 4 bits with scales for blocks of them: how they are made, and what they
// mean. Groups of rows (experts' tokens, experts' weights) are quantised each by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/numerics/philox.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat {

// How a block's scale follows from its largest |x|.
enum class ScaleRule : std::uint8_t {
  amax,          // it becomes the largest code
  power_of_two,  // as amax, the factor rounded down to a power of two
  e8m0,          // 2^ceil(log2(|x| / largest code)) (Microscaling, up where OCP's text goes down)
  nvfp4          // an E4M3 number times one fp32 number for the group (arXiv:2509.25149)
};

struct Quantization {
  SmallFloat format = SmallFloat::e4m3;
  ScaleRule rule = ScaleRule::amax;
  std::int64_t block_rows = 0, block_cols = 0;  // 0: all of the group
  // Before that every 16 rows are multiplied by a Hadamard matrix and random signs, which products
  // over rows cancel; of the last rows of a group 8, 4, 2 and 1.
  bool hadamard = false;
  bool stochastic = false;
  PhiloxKey key = {};  // of the random bits; the counter is the element's number
  // Delayed scaling, of blocks that are all of their group: group g's scale follows from
  // past_amax[g] instead of its own amax, which seen_amax[g] becomes where it is larger. NaN is
  // passed over. Where the kernels read; null: neither.
  const float* past_amax = nullptr;
  float* seen_amax = nullptr;
};

// Element (r, c) of a quantised matrix is its code times scales[block_of_row[r] * blocks_in_row + c
// / block_cols] times group_scales[block_of_row[r]].
struct BlockScales {
  SmallFloat format = SmallFloat::e4m3;
  ScaleRule rule = ScaleRule::amax;
  std::int64_t block_cols = 1, blocks_in_row = 0;
  std::vector<std::int32_t> block_of_row;
  std::vector<float> scales, group_scales;
  // A set of a device keeps the three there, and these vectors empty (KernelSet::read_scales).
  std::shared_ptr<void> on_device;
};

}  // namespace pleat
