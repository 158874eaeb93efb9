// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recording_transport.hpp"

#include <algorithm>
#include <numeric>

#include "backend/comm/communicator.hpp"

namespace pleat {
namespace {

using Kind = CommCall::Kind;

class RecordingCommunicator final : public Communicator {
 public:
  RecordingCommunicator(std::vector<Rank> members, int place, std::vector<CommCall>& calls)
      : members_(std::move(members)), place_(place), calls_(calls) {}

  [[nodiscard]] int rank() const override { return place_; }
  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }

  void barrier() override { note(Kind::barrier, 0); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    PLEAT_ASSERT(all.size() == mine.size() * members_.size());
    note(Kind::all_gather, mine.size());
    const std::vector<std::byte> piece(mine.begin(), mine.end());  // `mine` may lie in `all`
    for (std::size_t at = 0; at < all.size(); at += piece.size()) {
      std::copy(piece.begin(), piece.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void all_reduce(std::span<float> data) override { note(Kind::all_reduce, data.size_bytes()); }
  void all_reduce(std::span<Bf16> data) override { note(Kind::all_reduce, data.size_bytes()); }
  void reduce_scatter(std::span<const float> all, std::span<float> mine) override {
    keep_piece(all, mine);
  }
  void reduce_scatter(std::span<const Bf16> all, std::span<Bf16> mine) override {
    keep_piece(all, mine);
  }
  void all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                         std::span<const std::int64_t> bytes) override {
    PLEAT_ASSERT(bytes.size() == members_.size());
    note(Kind::all_gather, mine.size());
    const std::vector<std::byte> piece(mine.begin(), mine.end());  // `mine` may lie in `all`
    std::fill(all.begin(), all.end(), std::byte{0});
    std::copy(piece.begin(), piece.end(), all.begin() + place_of_mine(bytes));
  }
  void reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                             std::span<const std::int64_t> elements) override {
    keep_share(all, mine, elements);
  }
  void reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                             std::span<const std::int64_t> elements) override {
    keep_share(all, mine, elements);
  }
  void all_to_all(std::span<const std::byte> send, std::span<const std::int64_t> send_bytes,
                  std::span<std::byte> recv, std::span<const std::int64_t> recv_bytes) override {
    PLEAT_ASSERT(send_bytes.size() == members_.size() && recv_bytes.size() == members_.size());
    note(Kind::all_to_all, send.size());
    std::fill(recv.begin(), recv.end(), std::byte{0});
  }
  void send(int to, std::span<const std::byte> data, int tag) override {
    note(Kind::send, data.size(), to, tag);
  }
  void recv(int from, std::span<std::byte> data, int tag) override {
    note(Kind::recv, data.size(), from, tag);
    std::fill(data.begin(), data.end(), std::byte{0});
  }

 private:
  template <class T>
  void keep_piece(std::span<const T> all, std::span<T> mine) {
    PLEAT_ASSERT(all.size() == mine.size() * members_.size());
    note(Kind::reduce_scatter, all.size_bytes());
    const auto own = all.subspan(mine.size() * static_cast<std::size_t>(place_), mine.size());
    if (own.data() != mine.data()) std::copy(own.begin(), own.end(), mine.begin());
  }
  template <class T>
  void keep_share(std::span<const T> all, std::span<T> mine,
                  std::span<const std::int64_t> elements) {
    PLEAT_ASSERT(elements.size() == members_.size());
    note(Kind::reduce_scatter, all.size_bytes());
    const auto own = all.subspan(static_cast<std::size_t>(place_of_mine(elements)), mine.size());
    std::copy(own.begin(), own.end(), mine.begin());
  }
  void note(Kind kind, std::size_t bytes, int peer = -1, int tag = 0) {
    calls_.push_back({kind, members_, static_cast<std::int64_t>(bytes), peer, tag});
  }
  [[nodiscard]] std::int64_t place_of_mine(std::span<const std::int64_t> shares) const {
    return std::accumulate(shares.begin(), shares.begin() + place_, std::int64_t{0});
  }
  std::vector<Rank> members_;
  int place_;
  std::vector<CommCall>& calls_;
};

class RecordingTransport final : public Transport {
 public:
  RecordingTransport(Rank rank, int world, std::vector<CommCall>& calls)
      : rank_(rank), world_(world), calls_(calls) {}
  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return world_; }
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    return std::make_unique<RecordingCommunicator>(members, place_among(members, rank_, world_),
                                                   calls_);
  }
  void abort(const std::string&) override {}  // nobody waits

 private:
  Rank rank_;
  int world_;
  std::vector<CommCall>& calls_;
};

}  // namespace

std::unique_ptr<Transport> make_recording_transport(Rank rank, int world,
                                                    std::vector<CommCall>& calls) {
  return std::make_unique<RecordingTransport>(rank, world, calls);
}

}  // namespace pleat
