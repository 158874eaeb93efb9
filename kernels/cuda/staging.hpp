// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tables that the host makes for a call (visible keys, positions, documents, scales from other
// ranks) go to the device by way of pinned memory: from pageable memory the host would wait for the
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

  // In the stream's order. `from` may be used again when it returns, and it waits for nothing, but
  // for the first of more than 64 copies that the stream has not come to. Throws DeviceError while
  // a graph is captured, which would repeat the copy from memory that has other contents by then.
  void upload(void* to, const void* from, std::size_t bytes, StreamRef);

 private:
  struct Slot {
    void* memory = nullptr;
    std::size_t bytes = 0;
    void* copied = nullptr;  // an event
  };
  [[nodiscard]] Slot free_slot(std::size_t bytes);

  std::deque<Slot> slots_;       // oldest copy first
  std::vector<void*> outgrown_;  // given back at the end: that may wait for the whole GPU
};

}  // namespace pleat::cuda
