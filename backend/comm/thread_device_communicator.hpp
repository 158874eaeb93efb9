// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A ThreadGroup's member whose memory is a device's: ranks of one process, on one GPU or on several
// that reach each other's memory. Copies from device to device, sums by a kernel, in member order:
// the bits of the host's. Messages between two members go by way of the host.
#pragma once

#include "backend/comm/thread_communicator.hpp"

namespace pleat {

class ThreadDeviceCommunicator final : public Communicator {
 public:
  // The device must outlive it.
  ThreadDeviceCommunicator(std::shared_ptr<ThreadJob> job, std::shared_ptr<ThreadGroup> group,
                           int rank, Device& device)
      : host_(std::move(job), group, rank),
        group_(std::move(group)),
        rank_(rank),
        device_(device) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_->size(); }
  void barrier() override { host_.barrier(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_reduce(std::span<float> data) override { add_up(data, DType::fp32); }
  void all_reduce(std::span<Bf16> data) override { add_up(data, DType::bf16); }
  void reduce_scatter(std::span<const float> all, std::span<float> mine) override {
    add_pieces(all, mine, DType::fp32);
  }
  void reduce_scatter(std::span<const Bf16> all, std::span<Bf16> mine) override {
    add_pieces(all, mine, DType::bf16);
  }
  void all_to_all(std::span<const std::byte> send, std::span<const std::int64_t> send_bytes,
                  std::span<std::byte> recv, std::span<const std::int64_t> recv_bytes) override;
  void all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                         std::span<const std::int64_t> bytes) override;
  void reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                             std::span<const std::int64_t> elements) override;
  void reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                             std::span<const std::int64_t> elements) override;
  void send(int to, std::span<const std::byte> data, int tag) override;
  void recv(int from, std::span<std::byte> data, int tag) override;

 private:
  class Visit;
  [[nodiscard]] bool hidden(const void* a, const void* b = nullptr) const {
    return device_.hidden(a) || device_.hidden(b);
  }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes);
  template <class T>
  void add_up(std::span<T> data, DType);
  template <class T>
  void add_pieces(std::span<const T> all, std::span<T> mine, DType);
  // mine = the sum of elements [begin, + mine.size()) of what every member laid open.
  template <class T>
  void add_from(std::span<const T> all, std::size_t begin, std::span<T> mine, DType);

  ThreadCommunicator host_;  // for the host's memory
  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  Device& device_;
};

}  // namespace pleat
