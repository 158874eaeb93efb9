// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NCCL between the devices of ranks: the communicator of a group, and a rank's transport.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/nccl_library.hpp"
#include "backend/comm/nccl_messages.hpp"
#include "backend/comm/nccl_window.hpp"
#include "backend/comm/staged_communicator.hpp"

namespace pleat {

// Collectives of device memory through NCCL, on the device's stream: a call returns when it is
// enqueued. What only moves bytes gives the bits of every transport; sums are NCCL's, in its order,
// unless they are asked for in the order of the members. Messages between neighbours are
// NcclMessages, others go by way of the host.

class NcclCommunicator final : public Communicator {
 public:
  // `by_host`: the same group's for memory of the host; over it the members meet at the first
  // collective of device memory. The device must outlive this.
  NcclCommunicator(std::unique_ptr<Communicator> by_host, Device& device, NcclJob job);
  ~NcclCommunicator() override;
  // Ends what is under way on the device: peers may never come to the same calls.
  void abandon();
  // Throws what NCCL has found out since.
  void poll();

  [[nodiscard]] int rank() const override { return staged_.rank(); }
  [[nodiscard]] int size() const override { return staged_.size(); }
  void barrier() override { staged_.barrier(); }
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
  // In the order of the members in every case: NCCL has no ragged sums.
  void reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                             std::span<const std::int64_t> elements) override {
    add_parts(all, mine, elements, DType::fp32);
  }
  void reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                             std::span<const std::int64_t> elements) override {
    add_parts(all, mine, elements, DType::bf16);
  }
  void send(int to, std::span<const std::byte> data, int tag) override;
  void recv(int from, std::span<std::byte> data, int tag) override;
  [[nodiscard]] std::unique_ptr<Memory> window_memory() override;
  [[nodiscard]] std::shared_ptr<void> register_window(const WindowBuffer&) override;

 private:
  [[nodiscard]] bool hidden(const void* a, const void* b = nullptr) const {
    return device_.hidden(a) || device_.hidden(b);
  }
  void meet();  // once
  void require(int result, const char* call);
  void require_alive();
  template <class Calls>
  void grouped(Calls calls);
  [[nodiscard]] std::byte* room(std::size_t bytes);
  void exchange(std::span<const std::byte> send, std::span<const std::int64_t> send_bytes,
                std::span<std::byte> recv, std::span<const std::int64_t> recv_bytes);
  template <class T>
  void add_up(std::span<T> data, DType);
  template <class T>
  void add_pieces(std::span<const T> all, std::span<T> mine, DType);
  // mine = the sum of the members' shares for this rank, in order.
  template <class T>
  void add_parts(std::span<const T> all, std::span<T> mine, std::span<const std::int64_t> elements,
                 DType);

  StagedCommunicator staged_;
  Device& device_;
  NcclJob job_;
  NcclMessages messages_{staged_, device_, job_};
  NcclSymmetricWindow window_{staged_, device_, job_};
  NcclComm comm_ = nullptr;
  // Device memory of sums in order. What it outgrows is kept: to free it would wait for the whole
  // GPU.
  Arena rooms_{device_.memory(), false};
  Block room_;
};

// A rank's transport with NCCL for what lies on its device: one GPU a rank.

// Takes over `below`, over which the ranks meet, exchange what lies in host memory, and learn that
// one has given up: waits for the device end then, and NCCL's communicators are aborted.
[[nodiscard]] std::unique_ptr<Transport> nccl_transport(std::unique_ptr<Transport> below,
                                                        std::shared_ptr<const NcclFunctions>,
                                                        const NcclSettings& = {});

}  // namespace pleat
