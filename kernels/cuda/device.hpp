// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The GPU, its streams and its memory, without CUDA's headers: handles are opaque, owners move
// only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/staging.hpp"

namespace pleat::cuda {

// GPUs this process can use. 0 without a driver or a GPU; any other failure throws DeviceError.
[[nodiscard]] int device_count();

// A borrowed cudaStream_t. The default one is the legacy default stream.
struct StreamRef {
  void* handle = nullptr;
};

// Blocks until the stream's work is done; throws what that work failed with.
void synchronize(StreamRef stream);

// Device memory of the current GPU, freed at the end of scope. The contents start undefined.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }  // null if the buffer is empty
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // Copy all bytes() and return when done; host holds that many.
  void upload(const void* host);
  void download(void* host) const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Device memory in a stream's order: making it waits for nobody, giving it back neither, as freeing
// a DeviceBuffer does for the whole GPU. For work of that stream alone, which must outlive it.
class StreamBuffer {
 public:
  StreamBuffer() = default;
  StreamBuffer(StreamRef stream, std::size_t bytes);
  ~StreamBuffer();
  StreamBuffer(StreamBuffer&& other) noexcept;
  StreamBuffer& operator=(StreamBuffer&& other) noexcept;
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  StreamRef stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// One GPU and streams of its own, of which one is in use: number 0 until another is taken. Several
// of them may share a GPU: ranks that are threads. Calls make the GPU the calling thread's current
// one.
class CudaDevice {
 public:
  explicit CudaDevice(int index = 0);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] StreamRef stream() const { return lanes_[taken_].stream; }
  [[nodiscard]] int number_of_stream() const { return static_cast<int>(taken_); }
  void take_stream(int number);  // made when it is first taken
  // The work that the stream in use has been given so far, and what makes the stream in use wait
  // for such work of another one.
  [[nodiscard]] std::uint64_t mark();
  void wait_for(int stream, std::uint64_t mark);
  [[nodiscard]] bool is_done(int stream, std::uint64_t mark) const;
  [[nodiscard]] int multiprocessors() const { return multiprocessors_; }
  void make_current() const;

  [[nodiscard]] void* allocate(std::size_t bytes) const;  // 256-byte aligned; null for none
  void release(void* data) const;
  // In the stream's order. Both return when the host memory may be used again.
  void upload(void* to, const void* from, std::size_t bytes) const;
  void download(void* to, const void* from, std::size_t bytes) const;
  // upload without waiting for the stream. Throws DeviceError while a graph is captured.
  void stage(void* to, const void* from, std::size_t bytes) const;
  void synchronize() const;
  // Bytes free and in all, as the driver says.
  struct Memory {
    std::size_t free = 0, total = 0;
  };
  [[nodiscard]] Memory memory() const;

 private:
  // Marks share events: one that is used again stands for later work too.
  struct Lane {
    StreamRef stream;
    std::uint64_t marks = 0;
    std::array<void*, 64> events = {};
  };
  int index_ = 0, multiprocessors_ = 0;
  std::vector<Lane> lanes_;
  std::size_t taken_ = 0;
  mutable Staging staging_;
};

}  // namespace pleat::cuda
