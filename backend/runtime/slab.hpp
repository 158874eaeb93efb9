// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory that is handed out of one piece from its beginning on: who asks for the same sizes in the
// same order gets the same offsets.
#pragma once

#include <span>

#include "kernels/device.hpp"

namespace pleat {

class Slab final : public Memory {
 public:
  // The piece is of `memory`; what it has no room for is of `beyond`. Both must outlive it.
  Slab(Memory& memory, std::int64_t bytes, Memory& beyond)
      : memory_(memory), beyond_(beyond), data_(memory.allocate(bytes)), bytes_(bytes) {}
  ~Slab() override { memory_.release(data_); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  [[nodiscard]] std::byte* allocate(std::int64_t bytes) override {
    if (used_ + room(bytes) > bytes_) return beyond_.allocate(bytes);
    std::byte* const data = data_ + used_;
    used_ += room(bytes);
    return data;
  }
  // The piece takes nothing back: an Arena on it does.
  void release(std::byte* data) noexcept override {
    if (data < data_ || data >= data_ + bytes_) beyond_.release(data);
  }
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    memory_.fill(data, byte, bytes);
  }
  [[nodiscard]] std::span<std::byte> whole() const {
    return {data_, static_cast<std::size_t>(bytes_)};
  }

  // What a request takes of it: every one begins where cudaMalloc's would, at 256 bytes.
  [[nodiscard]] static std::int64_t room(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  Memory &memory_, &beyond_;
  std::byte* data_;
  std::int64_t bytes_, used_ = 0;
};

}  // namespace pleat
