// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lets fp32 kernels take operands in bf16 and quantised ones: as fp32 copies for the time of a
// call.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/kernel_set.hpp"

namespace pleat::cpu {

// Blocks of floats, 64-byte aligned. They are kept between calls, grow to the largest operands, and
// are not counted as the step's memory.
class ScratchBlocks {
 public:
  [[nodiscard]] float* block(std::size_t index, std::int64_t elements);

 private:
  struct Free {
    void operator()(float* data) const;
  };
  struct Block {
    std::unique_ptr<float[], Free> data;
    std::int64_t elements = 0;
  };
  std::vector<Block> blocks_;
};

// The operands of one call. Views of other types are passed on. Copies that were made by `out` or
// `inout` are rounded and written back when the call is over. Views of the same elements share a
// copy; other views of a call must not overlap if one of them is written.
class MixedOperands {
 public:
  explicit MixedOperands(ScratchBlocks& blocks) : blocks_(blocks) {}
  MixedOperands(const MixedOperands&) = delete;
  MixedOperands& operator=(const MixedOperands&) = delete;
  ~MixedOperands();

  [[nodiscard]] View in(View v) { return copy_of(v, true, false); }
  [[nodiscard]] View out(View v) { return copy_of(v, false, true); }
  [[nodiscard]] View inout(View v) { return copy_of(v, true, true); }
  [[nodiscard]] HeadColumns in(HeadColumns c);
  [[nodiscard]] HeadColumns inout(HeadColumns c);

 private:
  static constexpr std::size_t kMost = 16;
  struct Copy {
    View original;
    float* values = nullptr;
    bool read = false, written = false;
  };
  [[nodiscard]] View copy_of(View v, bool read, bool written);

  ScratchBlocks& blocks_;
  Copy copies_[kMost];
  std::size_t count_ = 0;
};

// to[i] = from[i], rounded if necessary. Types: fp32 and bf16.
void convert(View from, View to);

}  // namespace pleat::cpu
