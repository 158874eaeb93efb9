// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies tables of the host to the device (visible keys, positions, documents, scales from other
// ranks) through pinned memory. A copy from pageable memory would make the host wait for the
// stream.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace pleat::cuda {

struct StreamRef;

class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Copies in the stream's order, and returns when `from` may be reused. It does not wait, unless
  // more than 64 copies are pending; then it waits for the oldest. Throws DeviceError while a graph
  // is captured, because the graph would repeat the copy when the memory has other contents.
  void upload(void* to, const void* from, std::size_t bytes, StreamRef);

 private:
  struct Slot {
    void* memory = nullptr;
    std::size_t bytes = 0;
    void* copied = nullptr;  // an event
  };
  [[nodiscard]] Slot free_slot(std::size_t bytes);

  std::deque<Slot> slots_;       // oldest copy first
  std::vector<void*> outgrown_;  // freed at the end, because that may wait for the whole GPU
};

}  // namespace pleat::cuda
