// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The GPU, its streams and its memory, without CUDA's headers: handles are opaque, owners move
// only.
#pragma once

#include <cstddef>

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

}  // namespace pleat::cuda
