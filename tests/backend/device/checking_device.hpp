// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A device on the CPU that behaves as a GPU does: a host that follows its addresses crashes, its
// work is done when somebody waits for it and not before, and copies that nobody waits for take no
// host memory but the device's own. With streams, each does its work as late as waits allow, or the
// side streams as early.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "core/diagnostics.hpp"
#include "core/ids.hpp"
#include "kernels/host_device.hpp"
#include "tests/backend/device/checking_kernels.hpp"

namespace pleat::test {

class CheckingDevice : public Device {
 public:
  struct Options {
    bool by_itself = false;  // its work needs nobody to wait for it
    bool streams = false, early = false;
    bool deaf = false;  // nothing waits for another stream, as if it had been forgotten
  };
  explicit CheckingDevice(const Options& options)
      : options_(options), queues_(options.by_itself) {}
  explicit CheckingDevice(bool by_itself = false)
      : CheckingDevice(Options{.by_itself = by_itself}) {}
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
    queues_.now().add([=] { move(to, from, bytes); });
  }
  void synchronize() override {
    queues_.now().finish(check_);
    if (check_) check_();
  }
  void* stream() override { return &queues_.now(); }
  [[nodiscard]] bool captures() const override { return true; }
  void begin_capture() override { queues_.now().keep(); }
  std::shared_ptr<void> end_capture() override {
    if (graphs().fails) {
      static_cast<void>(queues_.now().kept());
      throw std::runtime_error("no graph today");
    }
    ++graphs().captured;
    return std::make_shared<WorkQueue::Graph>(queues_.now().kept());
  }
  void launch(const std::shared_ptr<void>& graph) override {
    ++graphs().launched;
    queues_.now().add([graph] {
      for (const auto& work : *static_cast<const WorkQueue::Graph*>(graph.get())) work();
    });
  }
  [[nodiscard]] std::uint64_t graph_age() const override { return age_; }
  void give_memory_back() { ++age_; }
  [[nodiscard]] bool has_streams() const override { return options_.streams; }
  [[nodiscard]] bool on_first_stream() const { return queues_.at_first(); }
  void take_stream(int number) override {
    if (!options_.streams) return;
    if (options_.early && !queues_.at_first()) queues_.now().finish();
    queues_.take(number);
  }
  std::uint64_t mark() override { return queues_.now().given(); }
  bool is_done(int stream, std::uint64_t mark) override {
    return queues_.at(stream).done() >= mark;
  }
  void wait_for(int stream, std::uint64_t mark) override {
    if (options_.deaf) return;
    queues_.now().add([&other = queues_.at(stream), mark] { other.finish_first(mark); });
  }
  // Of all devices of the test.
  struct Graphs {
    std::atomic<int> captured = 0, launched = 0;
    std::atomic<bool> fails = false;
  };
  static Graphs& graphs() {
    static Graphs all;
    return all;
  }
  void watch(std::function<void()> check) override { check_ = std::move(check); }
  void sum_parts(std::span<const View> parts, View to) override {
    const auto seen = [](View v) {
      v.data = seen_by_device(v.data);
      return v;
    };
    std::vector<View> all;
    for (const View& part : parts) all.push_back(seen(part));
    queues_.now().add([=, this, all = std::move(all)] { host_->sum_parts(all, seen(to)); });
  }
  KernelSet& kernels() override { return kernels_; }

 private:
  static void move(void* to, const void* from, std::int64_t bytes) {
    if (bytes == 0) return;
    std::memcpy(seen_by_device(to), seen_by_device(from), static_cast<std::size_t>(bytes));
  }

  class DeviceMemory final : public Memory {
   public:
    explicit DeviceMemory(WorkQueues& queues) : queues_(queues) {}
    std::byte* allocate(std::int64_t bytes) override {
      return reinterpret_cast<std::byte*>(
          reinterpret_cast<std::uintptr_t>(plain_memory().allocate(bytes)) | kDeviceBit);
    }
    void release(std::byte* data) noexcept override {
      queues_.finish_all();
      plain_memory().release(seen_by_device(data));
    }
    void fill(std::byte* data, int byte, std::int64_t bytes) override {
      queues_.now().add([=] { plain_memory().fill(seen_by_device(data), byte, bytes); });
    }

   private:
    WorkQueues& queues_;
  };

  class PinnedMemory final : public Memory {
   public:
    explicit PinnedMemory(WorkQueues& queues) : queues_(queues) {}
    std::byte* allocate(std::int64_t bytes) override {
      std::byte* data = plain_memory().allocate(bytes);
      blocks_[data] = bytes;
      return data;
    }
    void release(std::byte* data) noexcept override {
      queues_.finish_all();
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
    WorkQueues& queues_;
    std::map<const std::byte*, std::int64_t> blocks_;
  };

  Options options_;
  std::uint64_t age_ = 0;
  WorkQueues queues_;
  std::function<void()> check_;
  DeviceMemory memory_{queues_};
  PinnedMemory pinned_{queues_};
  CheckingKernels kernels_{queues_};
  std::unique_ptr<Device> host_ = host_device();
};

inline std::unique_ptr<Device> checking_device(Rank) { return std::make_unique<CheckingDevice>(); }

}  // namespace pleat::test
