// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Messages of device memory through NCCL, between neighbours of a group in a ring (the stages of a
// pipeline). NCCL matches sends and receives by their order, and a send waits for its receive. Our
// messages are matched by tag and do not wait. Therefore:
//   - each direction between two members has its own communicator and stream
//   - a message is copied before it is sent
//   - a note through the host tells the receiver which message comes next
//   - a message that nobody has asked for yet is received into a buffer of the channel
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl_library.hpp"
#include "backend/runtime/arena.hpp"

namespace pleat {

class NcclMessages {
 public:
  // All must outlive it. `by_host`: the group's.
  NcclMessages(Communicator& by_host, Device& device, const NcclJob& job)
      : by_host_(by_host), device_(device), job_(job) {}
  ~NcclMessages();
  NcclMessages(const NcclMessages&) = delete;
  NcclMessages& operator=(const NcclMessages&) = delete;

  // Whether messages to and from that member go this way: the same on both sides.
  [[nodiscard]] bool reaches(int peer) const;
  // With the device's stream 0 in use, which does not wait for what it sends. All members have to
  // come to their first message.
  void send(int to, std::span<const std::byte> data, int tag);
  void recv(int from, std::span<std::byte> data, int tag);
  void poll();     // throws what NCCL has found out since
  void abandon();  // ends what is under way on the device

 private:
  struct Channel {
    NcclComm comm = nullptr;
    int stream = 0;
    std::unique_ptr<Arena> room;
    std::map<int, std::deque<Block>> early;                 // received, by tag
    std::deque<std::pair<std::uint64_t, Block>> under_way;  // sent, until the mark is done
  };
  void meet();
  void join(int from, int to, const NcclId& id);
  void begin(const Channel& c);  // on its stream, behind stream 0's work
  void give(Channel& c, std::byte* data, std::int64_t bytes, bool sends);
  // The message into `data`, and the channel's mark when it is there.
  std::uint64_t take(Channel& c, int from, std::span<std::byte> data, int tag);

  Communicator& by_host_;
  Device& device_;
  const NcclJob& job_;
  std::map<std::pair<int, int>, Channel> channels_;  // from, to
};

}  // namespace pleat
