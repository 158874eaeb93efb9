// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Device memory that this process holds: blocks that are kept for reuse, and which addresses are a
// device's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "kernels/cuda/device.hpp"

namespace pleat::cuda {

// A pool of device memory for tensors that come and go. cudaFree waits for all work of the GPU,
// even for a send that a peer has not received yet, so blocks that are given back are kept for
// reuse. All users of the blocks work on one stream, whose order keeps them apart.

class KeptBlocks : public std::enable_shared_from_this<KeptBlocks> {
 public:
  // Memory of the pool, which lives as long as the last of its blocks.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { swap(other); }
    Block& operator=(Block&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Block();
    [[nodiscard]] void* data() const { return memory_.data(); }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

   private:
    friend class KeptBlocks;
    void swap(Block& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
    }
    std::shared_ptr<KeptBlocks> pool_;
    DeviceBuffer memory_{0};
  };

  // Of the current GPU: at least so many bytes, at most an eighth more.
  [[nodiscard]] Block take(std::size_t bytes);

 private:
  void give_back(DeviceBuffer memory) noexcept;

  std::mutex mutex_;
  std::multimap<std::size_t, DeviceBuffer> free_;  // by size
};

// The device memory that this process has, of all its GPUs and ranks: what the host must not touch.

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
