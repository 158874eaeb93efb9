// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/message_transport.hpp"

#include <fmt/format.h>

#include <map>

#include "backend/comm/members.hpp"
#include "backend/comm/message_communicator.hpp"

namespace pleat {
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
