// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host_device.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat {
namespace {

constexpr std::align_val_t kAlignment{64};

class PlainMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment));
  }
  void release(std::byte* data) noexcept override { ::operator delete(data, kAlignment); }
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    if (bytes > 0) std::memset(data, byte, static_cast<std::size_t>(bytes));
  }
};

// Some elements at a time.
template <class T>
void add_up(std::span<const View> parts, View to) {
  constexpr std::int64_t kAtATime = 1024;
  float sums[kAtATime];
  for (std::int64_t first = 0; first < to.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, to.elements() - first);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const T* from = static_cast<const T*>(parts[p].data) + first;
      for (std::int64_t i = 0; i < n; ++i) {
        sums[i] = p == 0 ? to_float(from[i]) : sums[i] + to_float(from[i]);
      }
    }
    T* out = static_cast<T*>(to.data) + first;
    for (std::int64_t i = 0; i < n; ++i) out[i] = rounded_to<T>(sums[i]);
  }
}

class HostDevice final : public Device {
 public:
  Memory& memory() override { return plain_memory(); }
  Memory& host_memory() override { return plain_memory(); }
  [[nodiscard]] bool hidden(const void*) const override { return false; }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void enqueue_copy(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes);
  }
  void synchronize() override {}
  void sum_parts(std::span<const View> parts, View to) override {
    PLEAT_ASSERT(to.dtype == DType::fp32 || to.dtype == DType::bf16);
    to.dtype == DType::bf16 ? add_up<Bf16>(parts, to) : add_up<float>(parts, to);
  }
  KernelSet& kernels() override { return *kernels_; }

 private:
  std::unique_ptr<KernelSet> kernels_ = cpu_kernels();
};

}  // namespace

Memory& plain_memory() {
  static PlainMemory memory;
  return memory;
}

std::unique_ptr<Device> host_device() { return std::make_unique<HostDevice>(); }

}  // namespace pleat
