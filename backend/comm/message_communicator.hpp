// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that share no memory: collectives made of messages, and the transport that offers them.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/message_hub.hpp"

namespace pleat {

// Collectives made of messages between pairs, for ranks that share no memory. Reductions add in the
// order of the members, as the threads' do, so both give the same bits.

// Larger pieces travel as several messages: no wire ever counts past 2^31 bytes.
inline constexpr std::size_t kMessageBytes = std::size_t{16} << 20;

class MessageCommunicator final : public Communicator {
 public:
  // `group`: equal on all members, and on no other group of theirs.
  MessageCommunicator(std::shared_ptr<MessageHub> hub, std::vector<Rank> members, int rank,
                      std::uint64_t group, std::size_t message_bytes = kMessageBytes);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  void barrier() override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_reduce(std::span<float> data) override { add_up(data); }
  void all_reduce(std::span<Bf16> data) override { add_up(data); }
  void reduce_scatter(std::span<const float> all, std::span<float> mine) override {
    add_pieces(all, mine);
  }
  void reduce_scatter(std::span<const Bf16> all, std::span<Bf16> mine) override {
    add_pieces(all, mine);
  }
  void all_to_all(std::span<const std::byte> send, std::span<const std::int64_t> send_bytes,
                  std::span<std::byte> recv, std::span<const std::int64_t> recv_bytes) override;
  void send(int to, std::span<const std::byte> data, int tag) override;
  void recv(int from, std::span<std::byte> data, int tag) override;

 private:
  void send_piece(int to, Label, std::span<const std::byte>);
  [[nodiscard]] Message take_piece(int from, Label, std::size_t bytes);
  void send_all(int to, Label, std::span<const std::byte>);
  void take_all(int from, Label, std::span<std::byte>);
  [[nodiscard]] Label collective() const { return {group_, 1, 0}; }
  // The members of one round in which all talk to all: first those after this one, so that not all
  // talk to the same one at once.
  [[nodiscard]] int peer(int turn) const { return (rank_ + turn) % size(); }
  template <class T>
  void add_up(std::span<T> data);
  template <class T>
  void add_pieces(std::span<const T> all, std::span<T> mine);
  template <class T>
  void reduce(std::span<const T> all, std::span<const std::size_t> begin, std::span<T> mine);

  std::shared_ptr<MessageHub> hub_;
  std::vector<Rank> members_;
  int rank_;
  std::uint64_t group_;
  std::size_t message_bytes_;
  std::vector<std::size_t> begin_;  // scratch: borders of slices
  std::vector<float> sums_;         // scratch
};

// The ranks of one process in a job of several: groups whose members talk through a hub.

// One transport for each rank of the hub, in rank order; give each to its own thread.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_message_transports(
    const std::shared_ptr<MessageHub>&, int world);

}  // namespace pleat
