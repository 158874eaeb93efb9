// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A member of a group of which there are no others: notes what it is asked for.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace pleat::test {

class NotingCommunicator final : public Communicator {
 public:
  NotingCommunicator(int rank, int size) : rank_(rank), size_(size) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override {}
  // What this member has, from all.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    for (std::size_t at = 0; at < all.size(); ++at) all[at] = mine[at % mine.size()];
    note(fmt::format("all_gather of {}", mine.size()));
  }
  void all_reduce(std::span<float> data) override {
    note(fmt::format("all_reduce of {} fp32", data.size()));
  }
  void all_reduce(std::span<Bf16> data) override {
    note(fmt::format("all_reduce of {} bf16", data.size()));
  }
  void reduce_scatter(std::span<const float>, std::span<float> mine) override {
    note(fmt::format("reduce_scatter to {} fp32", mine.size()));
  }
  void reduce_scatter(std::span<const Bf16>, std::span<Bf16> mine) override {
    note(fmt::format("reduce_scatter to {} bf16", mine.size()));
  }
  void all_to_all(std::span<const std::byte>, std::span<const std::int64_t> send_bytes,
                  std::span<std::byte>, std::span<const std::int64_t> recv_bytes) override {
    sent.assign(send_bytes.begin(), send_bytes.end());
    received.assign(recv_bytes.begin(), recv_bytes.end());
    note("all_to_all");
  }
  void send(int, std::span<const std::byte> data, int) override {
    note(fmt::format("send {}", data.size()));
  }
  void recv(int, std::span<std::byte> data, int) override {
    note(fmt::format("recv {}", data.size()));
  }

  std::vector<std::string> calls;
  std::vector<std::int64_t> sent, received;  // of the last all-to-all
  std::function<void()> on_call = [] {};

 private:
  void note(std::string call) {
    on_call();
    calls.push_back(std::move(call));
  }
  int rank_, size_;
};

}  // namespace pleat::test
