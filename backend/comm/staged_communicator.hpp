// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of device memory by way of the host: copied there, exchanged by another communicator,
// copied back. The same bits as that one's.
#pragma once

#include <memory>

#include "backend/comm/communicator.hpp"

namespace pleat {

class StagedCommunicator final : public Communicator {
 public:
  // The device must outlive it.
  StagedCommunicator(std::unique_ptr<Communicator> by_host, Device& device)
      : host_(std::move(by_host)), in_(device), out_(device), device_(device) {}

  [[nodiscard]] int rank() const override { return host_->rank(); }
  [[nodiscard]] int size() const override { return host_->size(); }
  void barrier() override { host_->barrier(); }
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
  void all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                         std::span<const std::int64_t> bytes) override;
  void reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                             std::span<const std::int64_t> elements) override {
    add_ragged(all, mine, elements);
  }
  void reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                             std::span<const std::int64_t> elements) override {
    add_ragged(all, mine, elements);
  }
  void send(int to, std::span<const std::byte> data, int tag) override;
  void recv(int from, std::span<std::byte> data, int tag) override;

 private:
  // Host memory that copies are fast from and to; grows, and is kept.
  class Room {
   public:
    explicit Room(Device& device) : memory_(device.host_memory()) {}
    ~Room() { memory_.release(data_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes);

   private:
    Memory& memory_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };
  [[nodiscard]] bool hidden(const void* a, const void* b = nullptr) const {
    return device_.hidden(a) || device_.hidden(b);
  }
  template <class T>
  [[nodiscard]] std::span<const T> fetched(std::span<const T> from);  // in in_
  template <class T>
  [[nodiscard]] std::span<T> room_for(std::span<T> to);  // in out_
  template <class T>
  void put(std::span<T> to, std::span<T> values);
  template <class T>
  void add_up(std::span<T> data);
  template <class T>
  void add_pieces(std::span<const T> all, std::span<T> mine);
  template <class T>
  void add_ragged(std::span<const T> all, std::span<T> mine,
                  std::span<const std::int64_t> elements);

  std::unique_ptr<Communicator> host_;
  Room in_, out_;
  Device& device_;
};

}  // namespace pleat
