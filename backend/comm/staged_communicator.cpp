// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/staged_communicator.hpp"

namespace pleat {

std::span<std::byte> StagedCommunicator::Room::take(std::size_t bytes) {
  if (bytes > size_) {
    if (data_ != nullptr) memory_.release(data_);
    data_ = nullptr;
    size_ = 0;
    data_ = memory_.allocate(static_cast<std::int64_t>(bytes));
    size_ = bytes;
  }
  return {data_, bytes};
}

template <class T>
std::span<const T> StagedCommunicator::fetched(std::span<const T> from) {
  const std::span<std::byte> room = in_.take(from.size_bytes());
  device_.copy(room.data(), from.data(), std::ssize(room));
  return {reinterpret_cast<const T*>(room.data()), from.size()};
}

template <class T>
std::span<T> StagedCommunicator::room_for(std::span<T> to) {
  return {reinterpret_cast<T*>(out_.take(to.size_bytes()).data()), to.size()};
}

template <class T>
void StagedCommunicator::put(std::span<T> to, std::span<T> values) {
  device_.copy(to.data(), values.data(), static_cast<std::int64_t>(values.size_bytes()));
}

void StagedCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (!hidden(mine.data(), all.data())) return host_->all_gather(mine, all);
  const auto to = room_for(all);
  host_->all_gather(fetched(mine), to);
  put(all, to);
}

template <class T>
void StagedCommunicator::add_up(std::span<T> data) {
  if (!hidden(data.data())) return host_->all_reduce(data);
  const auto there = room_for(data);
  device_.copy(there.data(), data.data(), static_cast<std::int64_t>(data.size_bytes()));
  host_->all_reduce(there);
  put(data, there);
}

template <class T>
void StagedCommunicator::add_pieces(std::span<const T> all, std::span<T> mine) {
  if (!hidden(all.data(), mine.data())) return host_->reduce_scatter(all, mine);
  const auto to = room_for(mine);
  host_->reduce_scatter(fetched(all), to);
  put(mine, to);
}

template <class T>
void StagedCommunicator::add_ragged(std::span<const T> all, std::span<T> mine,
                                    std::span<const std::int64_t> elements) {
  if (!hidden(all.data(), mine.data())) return host_->reduce_scatter_ragged(all, mine, elements);
  const auto to = room_for(mine);
  host_->reduce_scatter_ragged(fetched(all), to, elements);
  put(mine, to);
}

template void StagedCommunicator::add_up(std::span<float>);
template void StagedCommunicator::add_up(std::span<Bf16>);
template void StagedCommunicator::add_pieces(std::span<const float>, std::span<float>);
template void StagedCommunicator::add_pieces(std::span<const Bf16>, std::span<Bf16>);
template void StagedCommunicator::add_ragged(std::span<const float>, std::span<float>,
                                             std::span<const std::int64_t>);
template void StagedCommunicator::add_ragged(std::span<const Bf16>, std::span<Bf16>,
                                             std::span<const std::int64_t>);

void StagedCommunicator::all_to_all(std::span<const std::byte> send,
                                    std::span<const std::int64_t> send_bytes,
                                    std::span<std::byte> recv,
                                    std::span<const std::int64_t> recv_bytes) {
  if (!hidden(send.data(), recv.data())) {
    return host_->all_to_all(send, send_bytes, recv, recv_bytes);
  }
  const auto to = room_for(recv);
  host_->all_to_all(fetched(send), send_bytes, to, recv_bytes);
  put(recv, to);
}

void StagedCommunicator::all_gather_ragged(std::span<const std::byte> mine,
                                           std::span<std::byte> all,
                                           std::span<const std::int64_t> bytes) {
  if (!hidden(mine.data(), all.data())) return host_->all_gather_ragged(mine, all, bytes);
  const auto to = room_for(all);
  host_->all_gather_ragged(fetched(mine), to, bytes);
  put(all, to);
}

void StagedCommunicator::send(int to, std::span<const std::byte> data, int tag) {
  host_->send(to, hidden(data.data()) ? fetched(data) : data, tag);
}

void StagedCommunicator::recv(int from, std::span<std::byte> data, int tag) {
  if (!hidden(data.data())) return host_->recv(from, data, tag);
  const auto to = room_for(data);
  host_->recv(from, to, tag);
  put(data, to);
}

}  // namespace pleat
