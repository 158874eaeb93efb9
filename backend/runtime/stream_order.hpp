// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Puts operations on several streams of a device, with the results that a single stream would give.
// An operation on a side stream starts after everything that stream 0 was given before it. Any
// other stream waits for that operation before it touches the same memory again, even if the memory
// belongs to another tensor by then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.hpp"

namespace pleat {

class StreamOrder {
 public:
  explicit StreamOrder(Device& device) : device_(device) {}

  // What is given from now on goes to the stream, which waits for whoever has the operands.
  // `shared`: something else that two streams must not use at once, known by its address; may be
  // null.
  void begin(int stream, std::span<const View> in, std::span<const View> out,
             const void* shared = nullptr);
  void end();  // back to stream 0
  // Stream 0 waits for all others.
  void join();
  // Back to stream 0 where an operation has failed between begin and end.
  class Guard {
   public:
    explicit Guard(StreamOrder* order) : order_(order) {}  // none: guards nothing
    ~Guard() {
      if (order_ != nullptr) order_->give_up();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    StreamOrder* order_;
  };

 private:
  struct Use {
    std::uintptr_t begin = 0, end = 0;
    bool writes = false;
    int stream = 0;
    std::uint64_t mark = 0;
  };
  void give_up();
  void add(const void* data, std::int64_t bytes, bool writes);
  void wait_for_users();
  void forget(int stream, std::uint64_t mark);

  Device& device_;
  int stream_ = 0;
  std::vector<Use> mine_;       // of the operation between begin and end
  std::vector<Use> under_way_;  // of side streams, for which stream 0 has not waited yet
  std::vector<std::uint64_t> marks_;
};

}  // namespace pleat
