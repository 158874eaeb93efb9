// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "backend/comm/communicator.hpp"
#include "backend/comm/thread_device_communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// The sums over the members of elements [begin, end) of what `elements_of` a member finds, to
// write(i, sum) each: some at a time, in member order.
template <class T, class Elements, class Write>
void add_members(const std::vector<Published>& members, std::size_t begin, std::size_t end,
                 Elements elements_of, Write write) {
  constexpr std::size_t kAtATime = 1024;
  float sums[kAtATime];
  for (; begin < end; begin += kAtATime) {
    const std::size_t n = std::min(kAtATime, end - begin);
    for (std::size_t r = 0; r < members.size(); ++r) {
      const auto* from = reinterpret_cast<const T*>(elements_of(members[r])) + begin;
      for (std::size_t i = 0; i < n; ++i) {
        sums[i] = r == 0 ? to_float(from[i]) : sums[i] + to_float(from[i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) write(begin + i, rounded_to<T>(sums[i]));
  }
}

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

// Each member adds one slice of everybody's data and writes the sum into everybody's buffer: all
// members hold the bits of one addition.
template <class T>
void ThreadCommunicator::add_up(std::span<T> data) {
  const auto bytes = std::as_writable_bytes(data);
  const auto& members = group_->enter(rank_, {.input = {}, .data = bytes, .bytes_to = {}});
  const std::size_t n = data.size(), count = members.size();
  const std::size_t begin = n * static_cast<std::size_t>(rank_) / count;
  const std::size_t end = n * (static_cast<std::size_t>(rank_) + 1) / count;
  for (const Published& member : members) PLEAT_ASSERT(member.data.size() == bytes.size());
  add_members<T>(
      members, begin, end, [](const Published& p) { return p.data.data(); },
      [&](std::size_t i, T sum) { data[i] = sum; });
  for (const Published& member : members) {
    const auto from = bytes.subspan(begin * sizeof(T), (end - begin) * sizeof(T));
    copy_bytes(member.data.data() + begin * sizeof(T), from.data(), from.size());
  }
  group_->leave();
}

// `mine` may be this rank's own piece of `all`: no other member reads it.
template <class T>
void ThreadCommunicator::add_pieces(std::span<const T> all, std::span<T> mine) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  const auto& members =
      group_->enter(rank_, {.input = std::as_bytes(all), .data = {}, .bytes_to = {}});
  const std::size_t begin = mine.size() * static_cast<std::size_t>(rank_);
  for (const Published& member : members) PLEAT_ASSERT(member.input.size() == all.size_bytes());
  add_members<T>(
      members, begin, begin + mine.size(), [](const Published& p) { return p.input.data(); },
      [&](std::size_t i, T sum) { mine[i - begin] = sum; });
  group_->leave();
}

template void ThreadCommunicator::add_up(std::span<float>);
template void ThreadCommunicator::add_up(std::span<Bf16>);
template void ThreadCommunicator::add_pieces(std::span<const float>, std::span<float>);
template void ThreadCommunicator::add_pieces(std::span<const Bf16>, std::span<Bf16>);

void ThreadCommunicator::all_to_all(std::span<const std::byte> send,
                                    std::span<const std::int64_t> send_bytes,
                                    std::span<std::byte> recv,
                                    std::span<const std::int64_t> recv_bytes) {
  const auto count = static_cast<std::size_t>(size());
  PLEAT_ASSERT(send_bytes.size() == count && recv_bytes.size() == count);
  PLEAT_ASSERT(total(send_bytes) == static_cast<std::int64_t>(send.size()));
  PLEAT_ASSERT(total(recv_bytes) == static_cast<std::int64_t>(recv.size()));
  const auto& members = group_->enter(rank_, {.input = send, .data = {}, .bytes_to = send_bytes});
  const auto me = static_cast<std::size_t>(rank_);
  std::byte* to = recv.data();
  for (std::size_t r = 0; r < count; ++r) {
    const Published& from = members[r];
    PLEAT_ASSERT(from.bytes_to[me] == recv_bytes[r]);
    const auto bytes = static_cast<std::size_t>(recv_bytes[r]);
    copy_bytes(to, from.input.data() + total(from.bytes_to.first(me)), bytes);
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

namespace {

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadJob> job, Rank rank, int world)
      : job_(std::move(job)), rank_(rank), world_(world) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return world_; }

  // Does not wait: the k-th group of the same members is the same on all of them.
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    job_->throw_if_aborted();
    const int place = place_among(members, rank_, world_);
    const int nth = made_[members]++;
    return std::make_unique<ThreadCommunicator>(job_, job_->group(members, nth), place);
  }

  [[nodiscard]] std::unique_ptr<Communicator> group_on(Device& device,
                                                       const std::vector<Rank>& members) override {
    if (device.is_host()) return group(members);
    job_->throw_if_aborted();
    const int place = place_among(members, rank_, world_);
    const int nth = made_[members]++;
    return std::make_unique<ThreadDeviceCommunicator>(job_, job_->group(members, nth), place,
                                                      device);
  }

  void abort(const std::string& reason) override { job_->abort(rank_, reason); }
  void throw_if_aborted() const override { job_->throw_if_aborted(); }

 private:
  std::shared_ptr<ThreadJob> job_;
  Rank rank_;
  int world_;
  std::map<std::vector<Rank>, int> made_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int world) {
  PLEAT_ASSERT(world > 0);
  const auto job = std::make_shared<ThreadJob>();
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < world; ++r) {
    transports.push_back(std::make_unique<ThreadTransport>(job, Rank{r}, world));
  }
  return transports;
}

}  // namespace pleat
