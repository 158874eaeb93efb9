// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a rank computes: its memory, copies between that and the host's, its kernels. One object a
// rank, used by its thread alone. Free of CUDA: the host is a device too (kernels/host_device.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/kernel_set.hpp"

namespace pleat {

class Memory {
 public:
  virtual ~Memory() = default;
  // 64-byte aligned, contents unspecified. Throws std::bad_alloc, or what the device reports.
  [[nodiscard]] virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* data) noexcept = 0;
  virtual void fill(std::byte* data, int byte, std::int64_t bytes) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual Memory& memory() = 0;
  [[nodiscard]] virtual Memory& host_memory() = 0;  // of the host, fast to copy from and to
  [[nodiscard]] bool is_host() { return &memory() == &host_memory(); }  // hides nothing
  // Memory of this device or of a neighbour's that the host must not follow pointers into.
  [[nodiscard]] virtual bool hidden(const void* data) const = 0;
  // Memory that a library has allocated on this device, hidden from now on until it is let go.
  virtual void adopt(const std::byte* data, std::int64_t bytes) {
    static_cast<void>(data);
    static_cast<void>(bytes);
  }
  virtual void let_go(const std::byte* data) { static_cast<void>(data); }
  // Between any two memories, after all work that was given to the device before. Done when it
  // returns.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  // The same without waiting, where no host memory but host_memory()'s takes part.
  virtual void enqueue_copy(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void synchronize() = 0;
  // When all work is done that the stream in use has been given so far, to time it, and the seconds
  // between two of them, which waits. A device without moments of its own waits for each.
  using Moment = std::shared_ptr<void>;
  [[nodiscard]] virtual Moment moment() {
    synchronize();
    return std::make_shared<std::chrono::steady_clock::time_point>(
        std::chrono::steady_clock::now());
  }
  [[nodiscard]] virtual double seconds(const Moment& from, const Moment& to) {
    const auto time = [](const Moment& m) {
      return *static_cast<const std::chrono::steady_clock::time_point*>(m.get());
    };
    return std::chrono::duration<double>(time(to) - time(from)).count();
  }
  // In use on it by anyone, as its driver says; 0: there is none.
  [[nodiscard]] virtual std::int64_t used_bytes() { return 0; }
  // to = the parts' sum in fp32, in their order, rounded once; fp32 or bf16, all of one type. `to`
  // may be one of them. In the kernels' order.
  virtual void sum_parts(std::span<const View> parts, View to) = 0;
  [[nodiscard]] virtual KernelSet& kernels() = 0;
  // Work that is given between begin and end is kept and not done; launch gives all of it at once.
  // Only kernels of the first stream may be given in between, which have run with the same shapes
  // before, and enqueue_copy(), which reads what is there when the work is done. For devices that
  // can.
  [[nodiscard]] virtual bool captures() const { return false; }
  virtual void begin_capture() {}
  // Ends it in any case, also where it throws.
  [[nodiscard]] virtual std::shared_ptr<void> end_capture() { return nullptr; }
  virtual void launch(const std::shared_ptr<void>& graph) { static_cast<void>(graph); }
  // Another number: what was captured before uses memory that the kernels have given back.
  [[nodiscard]] virtual std::uint64_t graph_age() const { return 0; }
  // Work goes to the stream in use, number 0 until another is taken, and so do copy() and
  // synchronize(). Streams run side by side, each in its order. A mark is a stream's work so far;
  // the stream in use can be made to wait for it, which the host does not. Kernels may be of any
  // stream; those that keep memory for a tensor (scales of codes) are of stream 0. For devices that
  // have more than one.
  [[nodiscard]] virtual bool has_streams() const { return false; }
  virtual void take_stream(int number) { static_cast<void>(number); }
  [[nodiscard]] virtual std::uint64_t mark() { return 0; }
  virtual void wait_for(int stream, std::uint64_t mark) {
    static_cast<void>(stream);
    static_cast<void>(mark);
  }
  // Whether that work is done: no when nobody knows.
  [[nodiscard]] virtual bool is_done(int stream, std::uint64_t mark) {
    static_cast<void>(stream);
    static_cast<void>(mark);
    return false;
  }
  // What libraries take for the stream of this work, a cudaStream_t on a GPU.
  [[nodiscard]] virtual void* stream() { return nullptr; }
  // Asked now and then while the host waits for the device, and at its end; what it throws ends the
  // wait.
  virtual void watch(std::function<void()> check) { static_cast<void>(check); }
};

}  // namespace pleat
