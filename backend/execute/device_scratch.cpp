// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/device_scratch.hpp"

#include <vector>

namespace pleat::execute {

View DeviceScratch::equal_groups(std::int64_t groups, std::int64_t rows) {
  Block& counts = equal_groups_[{groups, rows}];
  if (counts.data() == nullptr) {
    counts = take_bytes(bytes_of(DType::i32, groups));
    const std::vector<std::int32_t> all(static_cast<std::size_t>(groups),
                                        static_cast<std::int32_t>(rows));
    device_.copy(counts.data(), all.data(), counts.bytes());
  }
  return {counts.data(), DType::i32, 1, groups};
}

}  // namespace pleat::execute
