// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: collectives in shared memory, and their transport.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/thread_job.hpp"

namespace pleat {

// One member's view of a ThreadGroup.

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadJob> job, std::shared_ptr<ThreadGroup> group, int rank)
      : job_(std::move(job)), group_(std::move(group)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_->size(); }
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
  template <class T>
  void add_up(std::span<T> data);
  template <class T>
  void add_pieces(std::span<const T> all, std::span<T> mine);

  std::shared_ptr<ThreadJob> job_;  // outlives the group, which refers to it
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

// The ranks of a job as threads of one process: collectives read each other's buffers directly, and
// waiting sleeps, for the ranks may outnumber the cores.

// One transport a rank, in rank order; give each to its own thread. They may be destroyed in any
// order, also before the communicators made from them.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_thread_transports(int world);

}  // namespace pleat
