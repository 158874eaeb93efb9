// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A device on the CPU that behaves as a GPU does: a host that follows its addresses crashes, its
// work is done when somebody waits for it and not before, and copies that nobody waits for take no
// host memory but the device's own.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "core/diagnostics.hpp"
#include "kernels/host_device.hpp"
#include "tests/backend/device/checking_kernels.hpp"

namespace pleat::test {

class CheckingDevice final : public Device {
 public:
  explicit CheckingDevice(bool by_itself = false) : queue_(by_itself) {}
  ~CheckingDevice() override { queue_.finish(); }
  Memory& memory() override { return memory_; }
  Memory& host_memory() override { return pinned_; }
  [[nodiscard]] bool hidden(const void* data) const override { return is_device_address(data); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    synchronize();
    move(to, from, bytes);
  }
  void enqueue_copy(void* to, const void* from, std::int64_t bytes) override {
    for (const void* end : {static_cast<const void*>(to), from}) {
      PLEAT_ASSERT(bytes == 0 || is_device_address(end) || pinned_.holds(end));
    }
    queue_.add([=] { move(to, from, bytes); });
  }
  void synchronize() override {
    queue_.finish(check_);
    if (check_) check_();
  }
  void* stream() override { return &queue_; }
  void watch(std::function<void()> check) override { check_ = std::move(check); }
  void sum_parts(std::span<const View> parts, View to) override {
    const auto seen = [](View v) {
      v.data = seen_by_device(v.data);
      return v;
    };
    std::vector<View> all;
    for (const View& part : parts) all.push_back(seen(part));
    queue_.add([=, this, all = std::move(all)] { host_->sum_parts(all, seen(to)); });
  }
  KernelSet& kernels() override { return kernels_; }

 private:
  static void move(void* to, const void* from, std::int64_t bytes) {
    if (bytes == 0) return;
    std::memcpy(seen_by_device(to), seen_by_device(from), static_cast<std::size_t>(bytes));
  }

  class DeviceMemory final : public Memory {
   public:
    explicit DeviceMemory(WorkQueue& queue) : queue_(queue) {}
    std::byte* allocate(std::int64_t bytes) override {
      return reinterpret_cast<std::byte*>(
          reinterpret_cast<std::uintptr_t>(plain_memory().allocate(bytes)) | kDeviceBit);
    }
    void release(std::byte* data) noexcept override {
      queue_.finish();
      plain_memory().release(seen_by_device(data));
    }
    void fill(std::byte* data, int byte, std::int64_t bytes) override {
      queue_.add([=] { plain_memory().fill(seen_by_device(data), byte, bytes); });
    }

   private:
    WorkQueue& queue_;
  };

  class PinnedMemory final : public Memory {
   public:
    explicit PinnedMemory(WorkQueue& queue) : queue_(queue) {}
    std::byte* allocate(std::int64_t bytes) override {
      std::byte* data = plain_memory().allocate(bytes);
      blocks_[data] = bytes;
      return data;
    }
    void release(std::byte* data) noexcept override {
      queue_.finish();
      blocks_.erase(data);
      plain_memory().release(data);
    }
    void fill(std::byte* data, int byte, std::int64_t bytes) override {
      plain_memory().fill(data, byte, bytes);
    }
    [[nodiscard]] bool holds(const void* p) const {
      auto after = blocks_.upper_bound(static_cast<const std::byte*>(p));
      if (after == blocks_.begin()) return false;
      --after;
      return p < after->first + after->second;
    }

   private:
    WorkQueue& queue_;
    std::map<const std::byte*, std::int64_t> blocks_;
  };

  WorkQueue queue_;
  std::function<void()> check_;
  DeviceMemory memory_{queue_};
  PinnedMemory pinned_{queue_};
  CheckingKernels kernels_{queue_};
  std::unique_ptr<Device> host_ = host_device();
};

inline std::unique_ptr<Device> checking_device(Rank) { return std::make_unique<CheckingDevice>(); }

}  // namespace pleat::test
