// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/message_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "backend/comm/communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Below this an all_reduce takes one round instead of two.
constexpr std::size_t kSmallReduce = 1024;  // elements

// sums = values for the first member, then sums += values.
template <class T>
void add_values(std::span<const T> values, bool first, std::vector<float>& sums) {
  sums.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i] = first ? to_float(values[i]) : sums[i] + to_float(values[i]);
  }
}

template <class T>
std::span<const T> values_of(const Message& m) {
  return {reinterpret_cast<const T*>(m.data.get()), m.size / sizeof(T)};
}

}  // namespace

MessageCommunicator::MessageCommunicator(std::shared_ptr<MessageHub> hub, std::vector<Rank> members,
                                         int rank, std::uint64_t group, std::size_t message_bytes)
    : hub_(std::move(hub)),
      members_(std::move(members)),
      rank_(rank),
      group_(group),
      message_bytes_(message_bytes),
      begin_(members_.size() + 1) {
  PLEAT_ASSERT(message_bytes_ % sizeof(float) == 0);
}

void MessageCommunicator::send_piece(int to, Label label, std::span<const std::byte> data) {
  const auto me = static_cast<std::size_t>(rank_), other = static_cast<std::size_t>(to);
  hub_->send({members_[me], members_[other], label}, data);
}

Message MessageCommunicator::take_piece(int from, Label label, std::size_t bytes) {
  const auto me = static_cast<std::size_t>(rank_), other = static_cast<std::size_t>(from);
  Message m = hub_->take({members_[other], members_[me], label});
  PLEAT_ASSERT(m.size == bytes);
  return m;
}

void MessageCommunicator::send_all(int to, Label label, std::span<const std::byte> data) {
  do {
    const std::size_t n = std::min(data.size(), message_bytes_);
    send_piece(to, label, data.first(n));
    data = data.subspan(n);
  } while (!data.empty());
}

void MessageCommunicator::take_all(int from, Label label, std::span<std::byte> data) {
  do {
    const std::size_t n = std::min(data.size(), message_bytes_);
    const Message m = take_piece(from, label, n);
    copy_bytes(data.data(), m.data.get(), n);
    data = data.subspan(n);
  } while (!data.empty());
}

// After the round with distance d everyone has heard of the 2d members before it.
void MessageCommunicator::barrier() {
  for (int distance = 1; distance < size(); distance *= 2) {
    send_piece(peer(distance), collective(), {});
    static_cast<void>(take_piece(peer(size() - distance), collective(), 0));
  }
}

void MessageCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  PLEAT_ASSERT(all.size() == mine.size() * members_.size());
  for (int turn = 1; turn < size(); ++turn) send_all(peer(turn), collective(), mine);
  for (int r = 0; r < size(); ++r) {
    const auto to = all.subspan(static_cast<std::size_t>(r) * mine.size(), mine.size());
    if (r == rank_) {
      copy_bytes(to.data(), mine.data(), mine.size());
    } else {
      take_all(r, collective(), to);
    }
  }
}

// `mine` becomes the sum of everybody's slice [begin[rank], begin[rank + 1]). It may lie in this
// rank's own slice of `all`. One piece after the other, so that little waits in the inboxes.
template <class T>
void MessageCommunicator::reduce(std::span<const T> all, std::span<const std::size_t> begin,
                                 std::span<T> mine) {
  const std::size_t piece = message_bytes_ / sizeof(T);
  std::size_t longest = 0;
  for (std::size_t r = 0; r < members_.size(); ++r) {
    longest = std::max(longest, begin[r + 1] - begin[r]);
  }
  const std::size_t own = begin[static_cast<std::size_t>(rank_)];
  for (std::size_t done = 0; done < longest; done += piece) {
    for (int turn = 1; turn < size(); ++turn) {
      const auto to = static_cast<std::size_t>(peer(turn));
      const std::size_t length = begin[to + 1] - begin[to];
      if (done >= length) continue;
      const auto part = all.subspan(begin[to] + done, std::min(piece, length - done));
      send_piece(peer(turn), collective(), std::as_bytes(part));
    }
    if (done >= mine.size()) continue;
    const std::size_t n = std::min(piece, mine.size() - done);
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) {
        add_values(all.subspan(own + done, n), r == 0, sums_);
      } else {
        const Message other = take_piece(r, collective(), n * sizeof(T));
        add_values(values_of<T>(other), r == 0, sums_);
      }
    }
    std::transform(sums_.begin(), sums_.end(), mine.subspan(done).begin(), rounded_to<T>);
  }
}

template <class T>
void MessageCommunicator::add_up(std::span<T> data) {
  if (size() == 1) return;
  if (data.size() <= kSmallReduce) {
    for (int turn = 1; turn < size(); ++turn) {
      send_piece(peer(turn), collective(), std::as_bytes(data));
    }
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) {
        add_values(std::span<const T>(data), r == 0, sums_);
      } else {
        const Message other = take_piece(r, collective(), data.size_bytes());
        add_values(values_of<T>(other), r == 0, sums_);
      }
    }
    std::transform(sums_.begin(), sums_.end(), data.begin(), rounded_to<T>);
    return;
  }
  for (std::size_t r = 0; r < begin_.size(); ++r) begin_[r] = data.size() * r / members_.size();
  const auto slice = [&](int r) {
    const auto i = static_cast<std::size_t>(r);
    return data.subspan(begin_[i], begin_[i + 1] - begin_[i]);
  };
  reduce(std::span<const T>(data), begin_, slice(rank_));
  for (int turn = 1; turn < size(); ++turn) {
    send_all(peer(turn), collective(), std::as_bytes(slice(rank_)));
  }
  for (int turn = 1; turn < size(); ++turn) {
    take_all(peer(turn), collective(), std::as_writable_bytes(slice(peer(turn))));
  }
}

template <class T>
void MessageCommunicator::add_pieces(std::span<const T> all, std::span<T> mine) {
  PLEAT_ASSERT(all.size() == mine.size() * members_.size());
  for (std::size_t r = 0; r < begin_.size(); ++r) begin_[r] = mine.size() * r;
  reduce(all, begin_, mine);
}

template void MessageCommunicator::add_up(std::span<float>);
template void MessageCommunicator::add_up(std::span<Bf16>);
template void MessageCommunicator::add_pieces(std::span<const float>, std::span<float>);
template void MessageCommunicator::add_pieces(std::span<const Bf16>, std::span<Bf16>);

void MessageCommunicator::all_to_all(std::span<const std::byte> send,
                                     std::span<const std::int64_t> send_bytes,
                                     std::span<std::byte> recv,
                                     std::span<const std::int64_t> recv_bytes) {
  const std::size_t count = members_.size(), me = static_cast<std::size_t>(rank_);
  PLEAT_ASSERT(send_bytes.size() == count && recv_bytes.size() == count);
  PLEAT_ASSERT(total(send_bytes) == std::ssize(send) && total(recv_bytes) == std::ssize(recv));
  PLEAT_ASSERT(send_bytes[me] == recv_bytes[me]);
  const auto piece_for = [&](std::size_t r) {
    return send.subspan(total(send_bytes.first(r)), static_cast<std::size_t>(send_bytes[r]));
  };
  for (int turn = 1; turn < size(); ++turn) {
    send_all(peer(turn), collective(), piece_for(static_cast<std::size_t>(peer(turn))));
  }
  std::byte* to = recv.data();
  for (std::size_t r = 0; r < count; ++r) {
    const auto bytes = static_cast<std::size_t>(recv_bytes[r]);
    if (r == me) {
      copy_bytes(to, piece_for(me).data(), bytes);
    } else {
      take_all(static_cast<int>(r), collective(), {to, bytes});
    }
    to += bytes;
  }
}

void MessageCommunicator::send(int to, std::span<const std::byte> data, int tag) {
  PLEAT_ASSERT(to >= 0 && to < size());
  send_all(to, {group_, 0, tag}, data);
}

void MessageCommunicator::recv(int from, std::span<std::byte> data, int tag) {
  PLEAT_ASSERT(from >= 0 && from < size());
  take_all(from, {group_, 0, tag}, data);
}

namespace {

// FNV-1a over the members and how many groups of them there were before.
std::uint64_t group_number(const std::vector<Rank>& members, int nth) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](int value) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((static_cast<std::uint32_t>(value) >> shift) & 0xFFU)) * 0x100000001b3;
    }
  };
  add(nth);
  for (const Rank r : members) add(r.value);
  return hash;
}

class MessageTransport final : public Transport {
 public:
  MessageTransport(std::shared_ptr<MessageHub> hub, Rank rank, int world)
      : hub_(std::move(hub)), rank_(rank), world_(world) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return world_; }

  // Does not wait: the k-th group of the same members is the same on all of them.
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    hub_->throw_if_aborted();
    const int place = place_among(members, rank_, world_);
    return std::make_unique<MessageCommunicator>(hub_, members, place,
                                                 group_number(members, made_[members]++));
  }

  void abort(const std::string& reason) override {
    hub_->abort(fmt::format("rank {} failed: {}", rank_.value, reason), true);
  }
  void throw_if_aborted() const override { hub_->throw_if_aborted(); }

 private:
  std::shared_ptr<MessageHub> hub_;
  Rank rank_;
  int world_;
  std::map<std::vector<Rank>, int> made_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_message_transports(
    const std::shared_ptr<MessageHub>& hub, int world) {
  PLEAT_ASSERT(hub->first().value + hub->count() <= world);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < hub->count(); ++r) {
    transports.push_back(
        std::make_unique<MessageTransport>(hub, Rank{hub->first().value + r}, world));
  }
  return transports;
}

}  // namespace pleat
