// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/kept_blocks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace pleat::cuda {
namespace {

// Eight sizes between powers of two, so that few sizes serve all.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(256, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

KeptBlocks::Block::~Block() {
  if (pool_ != nullptr) pool_->give_back(std::move(memory_));
}

KeptBlocks::Block KeptBlocks::take(std::size_t bytes) {
  Block b;
  if (bytes == 0) return b;
  const std::size_t size = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto kept = free_.find(size);
    if (kept != free_.end()) {
      b.memory_ = std::move(kept->second);
      free_.erase(kept);
    }
  }
  if (b.memory_.data() == nullptr) b.memory_ = DeviceBuffer(size);
  b.pool_ = shared_from_this();
  return b;
}

void KeptBlocks::give_back(DeviceBuffer memory) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t size = memory.bytes();
  free_.emplace(size, std::move(memory));
}

}  // namespace pleat::cuda
