// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the device beside the program's tensors: copies for the time of one operation, tables
// that stay.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "backend/runtime/arena.hpp"
#include "kernels/device.hpp"

namespace pleat::execute {

// Lives as long as its owner keeps it.
struct Scratch {
  Block block;
  View kept;
  [[nodiscard]] View view() const { return kept; }
};

class DeviceScratch {
 public:
  DeviceScratch(Device& device, bool poison) : device_(device), arena_(device.memory(), poison) {}

  [[nodiscard]] Scratch take(DType type, std::int64_t rows, std::int64_t cols) {
    Scratch s{arena_.allocate(bytes_of(type, rows * cols)), {}};
    s.kept = {s.block.data(), type, rows, cols};
    return s;
  }
  [[nodiscard]] Block take_bytes(std::int64_t bytes) { return arena_.allocate(bytes); }

  // A table [groups] that says `rows` for each of so many equal groups.
  [[nodiscard]] View equal_groups(std::int64_t groups, std::int64_t rows);

 private:
  Device& device_;
  Arena arena_;
  std::map<std::pair<std::int64_t, std::int64_t>, Block> equal_groups_;
};

}  // namespace pleat::execute
