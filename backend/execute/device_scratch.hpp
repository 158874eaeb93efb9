// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the device beside the program's tensors: copies for the time of one operation, tables
// that stay. The work of an operation may still be under way when its copies are given back, so
// each stream has memory of its own, which only later work of the same stream takes again.
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
  DeviceScratch(Device& device, bool poison) : device_(device), poison_(poison) {}

  [[nodiscard]] Scratch take(DType type, std::int64_t rows, std::int64_t cols) {
    Scratch s{take_bytes(bytes_of(type, rows * cols)), {}};
    s.kept = {s.block.data(), type, rows, cols};
    return s;
  }
  [[nodiscard]] Block take_bytes(std::int64_t bytes) { return arena().allocate(bytes); }

  // A table [groups] that says `rows` for each of so many equal groups.
  [[nodiscard]] View equal_groups(std::int64_t groups, std::int64_t rows);

 private:
  [[nodiscard]] Arena& arena() {  // of the stream in use
    return arenas_.try_emplace(device_.stream(), device_.memory(), poison_).first->second;
  }

  Device& device_;
  bool poison_;
  std::map<const void*, Arena> arenas_;
  std::map<std::pair<std::int64_t, std::int64_t>, Block> equal_groups_;
};

}  // namespace pleat::execute
