// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Nothing to move may come with no address; and a member's own piece may already be in place.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

const float* floats(const Published& p) { return reinterpret_cast<const float*>(p.input.data()); }

}  // namespace

// Nothing is laid open, so nobody has to wait for readers to leave.
void ThreadCommunicator::barrier() { group_->enter(rank_, {}); }

void ThreadCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  std::byte* to = all.data();
  for (const Published& from : group_->enter(rank_, {.input = mine, .data = {}, .bytes_to = {}})) {
    PLEAT_ASSERT(from.input.size() == mine.size());
    copy_bytes(to, from.input.data(), mine.size());
    to += mine.size();
  }
  group_->leave();
}

// Each member adds one slice of everybody's data and writes the sum into everybody's buffer: no
// scratch memory, and all members hold the bits of one addition.
void ThreadCommunicator::all_reduce(std::span<float> data) {
  const auto& members = group_->enter(rank_, {.input = {}, .data = data, .bytes_to = {}});
  const std::size_t n = data.size(), count = members.size();
  const std::size_t begin = n * static_cast<std::size_t>(rank_) / count;
  const std::size_t end = n * (static_cast<std::size_t>(rank_) + 1) / count;
  for (std::size_t r = 0; r < count; ++r) PLEAT_ASSERT(members[r].data.size() == n);
  float* first = members[0].data.data();
  for (std::size_t r = 1; r < count; ++r) {
    const float* other = members[r].data.data();
    for (std::size_t i = begin; i < end; ++i) first[i] += other[i];
  }
  for (std::size_t r = 1; r < count && begin < end; ++r) {
    std::copy(first + begin, first + end, members[r].data.data() + begin);
  }
  group_->leave();
}

// `mine` may be this rank's own piece of `all`: no other member reads it.
void ThreadCommunicator::reduce_scatter(std::span<const float> all, std::span<float> mine) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  const auto& members =
      group_->enter(rank_, {.input = std::as_bytes(all), .data = {}, .bytes_to = {}});
  const std::size_t begin = mine.size() * static_cast<std::size_t>(rank_);
  for (const Published& member : members) PLEAT_ASSERT(member.input.size() == all.size_bytes());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    float total = floats(members[0])[begin + i];
    for (std::size_t r = 1; r < members.size(); ++r) total += floats(members[r])[begin + i];
    mine[i] = total;
  }
  group_->leave();
}

void ThreadCommunicator::all_to_all(std::span<const std::byte> send,
                                    std::span<const std::int64_t> send_bytes,
                                    std::span<std::byte> recv,
                                    std::span<const std::int64_t> recv_bytes) {
  const auto count = static_cast<std::size_t>(size());
  PLEAT_ASSERT(send_bytes.size() == count && recv_bytes.size() == count);
  PLEAT_ASSERT(sum(send_bytes) == static_cast<std::int64_t>(send.size()));
  PLEAT_ASSERT(sum(recv_bytes) == static_cast<std::int64_t>(recv.size()));
  const auto& members = group_->enter(rank_, {.input = send, .data = {}, .bytes_to = send_bytes});
  const auto me = static_cast<std::size_t>(rank_);
  std::byte* to = recv.data();
  for (std::size_t r = 0; r < count; ++r) {
    const Published& from = members[r];
    PLEAT_ASSERT(from.bytes_to[me] == recv_bytes[r]);
    const auto bytes = static_cast<std::size_t>(recv_bytes[r]);
    copy_bytes(to, from.input.data() + sum(from.bytes_to.first(me)), bytes);
    to += bytes;
  }
  group_->leave();
}

void ThreadCommunicator::send(int to, std::span<const std::byte> data, int tag) {
  PLEAT_ASSERT(to >= 0 && to < size());
  group_->post(rank_, to, tag, data);
}

void ThreadCommunicator::recv(int from, std::span<std::byte> data, int tag) {
  PLEAT_ASSERT(from >= 0 && from < size());
  group_->take(from, rank_, tag, data);
}

}  // namespace pleat
