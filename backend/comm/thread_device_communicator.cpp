// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_device_communicator.hpp"

#include <numeric>

#include "backend/comm/communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

View view_of(std::byte* data, std::size_t elements, DType type) {
  return {data, type, 1, static_cast<std::int64_t>(elements)};
}

}  // namespace

// From the moment when all members have laid their memory open to the one when all are done with
// it, on whatever way this member goes. Its work is finished on both sides of it.
class ThreadDeviceCommunicator::Visit {
 public:
  Visit(ThreadDeviceCommunicator& c, const Published& mine) : c_(c) {
    c.device_.synchronize();
    members_ = &c.group_->enter(c.rank_, mine);
  }
  ~Visit() { c_.group_->leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  [[nodiscard]] const std::vector<Published>& members() const { return *members_; }

 private:
  ThreadDeviceCommunicator& c_;
  const std::vector<Published>* members_;
};

void ThreadDeviceCommunicator::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) device_.enqueue_copy(to, from, bytes);
}

void ThreadDeviceCommunicator::all_gather(std::span<const std::byte> mine,
                                          std::span<std::byte> all) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  if (!hidden(mine.data(), all.data())) return host_.all_gather(mine, all);
  const Visit visit(*this, {.input = mine, .data = {}, .bytes_to = {}});
  std::byte* to = all.data();
  for (const Published& from : visit.members()) {
    copy(to, from.input.data(), std::ssize(mine));
    to += mine.size();
  }
  device_.synchronize();
}

template <class T>
void ThreadDeviceCommunicator::add_up(std::span<T> data, DType type) {
  if (!hidden(data.data())) return host_.all_reduce(data);
  const auto bytes = std::as_writable_bytes(data);
  const Visit visit(*this, {.input = {}, .data = bytes, .bytes_to = {}});
  const std::size_t n = data.size(), count = visit.members().size();
  const std::size_t begin = n * static_cast<std::size_t>(rank_) / count;
  const std::size_t end = n * (static_cast<std::size_t>(rank_) + 1) / count;
  if (begin == end) return;
  std::vector<View> parts;
  for (const Published& member : visit.members()) {
    parts.push_back(view_of(member.data.data() + begin * sizeof(T), end - begin, type));
  }
  const View mine = parts[static_cast<std::size_t>(rank_)];
  device_.sum_parts(parts, mine);
  for (const View& part : parts) copy(part.at(0), mine.at(0), bytes_of(type, mine.elements()));
  device_.synchronize();
}

template <class T>
void ThreadDeviceCommunicator::add_from(std::span<const T> all, std::size_t begin,
                                        std::span<T> mine, DType type) {
  const Visit visit(*this, {.input = std::as_bytes(all), .data = {}, .bytes_to = {}});
  if (mine.empty()) return;
  std::vector<View> parts;
  for (const Published& member : visit.members()) {
    auto* data = const_cast<std::byte*>(member.input.data()) + begin * sizeof(T);
    parts.push_back(view_of(data, mine.size(), type));
  }
  device_.sum_parts(parts, {mine.data(), type, 1, std::ssize(mine)});
  device_.synchronize();
}

template <class T>
void ThreadDeviceCommunicator::add_pieces(std::span<const T> all, std::span<T> mine, DType type) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  if (!hidden(all.data(), mine.data())) return host_.reduce_scatter(all, mine);
  add_from(all, mine.size() * static_cast<std::size_t>(rank_), mine, type);
}

template void ThreadDeviceCommunicator::add_up(std::span<float>, DType);
template void ThreadDeviceCommunicator::add_up(std::span<Bf16>, DType);
template void ThreadDeviceCommunicator::add_pieces(std::span<const float>, std::span<float>, DType);
template void ThreadDeviceCommunicator::add_pieces(std::span<const Bf16>, std::span<Bf16>, DType);

// Whether memory is hidden may differ between members where shares are empty, so that all of these
// take the device's way.
void ThreadDeviceCommunicator::reduce_scatter_ragged(std::span<const float> all,
                                                     std::span<float> mine,
                                                     std::span<const std::int64_t> elements) {
  const auto before = elements.first(static_cast<std::size_t>(rank_));
  add_from(all, static_cast<std::size_t>(total(before)), mine, DType::fp32);
}
void ThreadDeviceCommunicator::reduce_scatter_ragged(std::span<const Bf16> all,
                                                     std::span<Bf16> mine,
                                                     std::span<const std::int64_t> elements) {
  const auto before = elements.first(static_cast<std::size_t>(rank_));
  add_from(all, static_cast<std::size_t>(total(before)), mine, DType::bf16);
}

void ThreadDeviceCommunicator::all_gather_ragged(std::span<const std::byte> mine,
                                                 std::span<std::byte> all,
                                                 std::span<const std::int64_t> bytes) {
  PLEAT_ASSERT(total(bytes) == std::ssize(all));
  const Visit visit(*this, {.input = mine, .data = {}, .bytes_to = {}});
  std::byte* to = all.data();
  for (std::size_t r = 0; r < visit.members().size(); ++r) {
    PLEAT_ASSERT(std::ssize(visit.members()[r].input) == bytes[r]);
    copy(to, visit.members()[r].input.data(), bytes[r]);
    to += bytes[r];
  }
  device_.synchronize();
}

void ThreadDeviceCommunicator::all_to_all(std::span<const std::byte> send,
                                          std::span<const std::int64_t> send_bytes,
                                          std::span<std::byte> recv,
                                          std::span<const std::int64_t> recv_bytes) {
  PLEAT_ASSERT(total(send_bytes) == std::ssize(send) && total(recv_bytes) == std::ssize(recv));
  const Visit visit(*this, {.input = send, .data = {}, .bytes_to = send_bytes});
  const auto me = static_cast<std::size_t>(rank_);
  std::byte* to = recv.data();
  for (std::size_t r = 0; r < visit.members().size(); ++r) {
    const Published& from = visit.members()[r];
    PLEAT_ASSERT(from.bytes_to[me] == recv_bytes[r]);
    copy(to, from.input.data() + total(from.bytes_to.first(me)), recv_bytes[r]);
    to += recv_bytes[r];
  }
  device_.synchronize();
}

void ThreadDeviceCommunicator::send(int to, std::span<const std::byte> data, int tag) {
  if (!hidden(data.data())) return host_.send(to, data, tag);
  std::vector<std::byte> message(data.size());
  device_.copy(message.data(), data.data(), std::ssize(data));
  host_.send(to, message, tag);
}

void ThreadDeviceCommunicator::recv(int from, std::span<std::byte> data, int tag) {
  if (!hidden(data.data())) return host_.recv(from, data, tag);
  std::vector<std::byte> message(data.size());
  host_.recv(from, message, tag);
  device_.copy(data.data(), message.data(), std::ssize(data));
}

}  // namespace pleat
