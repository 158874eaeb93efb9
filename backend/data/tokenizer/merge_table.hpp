// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which pairs of neighbouring tokens merge, into what, and in which order.
#pragma once

#include <cstdint>
#include <vector>

namespace pleat {

struct Merge {
  std::int32_t rank = -1;  // the smallest merges first; -1: the pair does not merge
  std::int32_t token = -1;
};

// Open addressing over one array: looked up several times for each byte of a text.
class MergeTable {
 public:
  // Room for `count` pairs.
  void reserve(std::size_t count);
  // A pair that is there already gets the new merge.
  void set(std::int32_t left, std::int32_t right, Merge);
  [[nodiscard]] Merge find(std::int32_t left, std::int32_t right) const {
    for (std::size_t i = home(left, right);; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.left == left && slot.right == right) return slot.merge;
      if (slot.merge.rank < 0) return {};
    }
  }

  // Merges neighbours until none is left, the smallest rank first, at equal ranks the leftmost.
  // Tokens from `begin` to the end of the list; the list shrinks.
  void apply(std::vector<std::int32_t>& tokens, std::size_t begin) const;

 private:
  struct Slot {
    std::int32_t left = -1, right = -1;
    Merge merge;
  };
  [[nodiscard]] std::size_t home(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  void apply_to_short(std::int32_t* tokens, std::size_t& count) const;
  void apply_to_long(std::int32_t* tokens, std::size_t& count) const;

  std::vector<Slot> slots_ = std::vector<Slot>(2);
  std::size_t mask_ = 1;
  unsigned shift_ = 63;
};

}  // namespace pleat
