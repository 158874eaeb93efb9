// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The device memory that this process has, of all its GPUs and ranks: what the host must not touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

namespace pleat::cuda {

class DeviceBlocks {
 public:
  void add(const std::byte* data, std::int64_t bytes) {
    const std::unique_lock lock(mutex_);
    blocks_[data] = bytes;
  }
  void remove(const std::byte* data) {
    const std::unique_lock lock(mutex_);
    blocks_.erase(data);
  }
  [[nodiscard]] bool hold(const void* at) const {
    if (at == nullptr) return false;
    const auto* data = static_cast<const std::byte*>(at);
    const std::shared_lock lock(mutex_);
    auto after = blocks_.upper_bound(data);
    if (after == blocks_.begin()) return false;
    --after;
    return data < after->first + after->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, std::int64_t> blocks_;
};

}  // namespace pleat::cuda
