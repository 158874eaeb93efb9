// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of unequal shares, from messages; device memory by way of the host.
#include "backend/comm/communicator.hpp"

#include <algorithm>
#include <vector>

#include "backend/comm/staged_communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kRaggedTag = 31000;  // above those of pipelines, below the least that MPI allows

}  // namespace

std::unique_ptr<Communicator> Transport::group_on(Device& device,
                                                  const std::vector<Rank>& members) {
  std::unique_ptr<Communicator> by_host = group(members);
  if (device.is_host()) return by_host;
  return std::make_unique<StagedCommunicator>(std::move(by_host), device);
}

void Communicator::all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                                     std::span<const std::int64_t> bytes) {
  PLEAT_ASSERT(std::ssize(bytes) == size());
  for (int r = 0; r < size(); ++r) {
    if (r != rank()) send(r, mine, kRaggedTag);
  }
  std::size_t at = 0;
  for (int r = 0; r < size(); ++r) {
    const auto share = static_cast<std::size_t>(bytes[static_cast<std::size_t>(r)]);
    const std::span<std::byte> to = all.subspan(at, share);
    if (r == rank()) {
      PLEAT_ASSERT(mine.size() == share);
      std::copy(mine.begin(), mine.end(), to.begin());
    } else {
      recv(r, to, kRaggedTag);
    }
    at += share;
  }
  PLEAT_ASSERT(at == all.size());
}

namespace {

template <class T>
void reduce_ragged(Communicator& comm, std::span<const T> all, std::span<T> mine,
                   std::span<const std::int64_t> elements) {
  PLEAT_ASSERT(std::ssize(elements) == comm.size());
  std::size_t at = 0;
  std::span<const T> own;
  for (int r = 0; r < comm.size(); ++r) {
    const auto share = static_cast<std::size_t>(elements[static_cast<std::size_t>(r)]);
    const std::span<const T> piece = all.subspan(at, share);
    if (r == comm.rank())
      own = piece;
    else
      comm.send(r, std::as_bytes(piece), kRaggedTag);
    at += share;
  }
  PLEAT_ASSERT(at == all.size() && own.size() == mine.size());
  std::vector<float> sum(mine.size());
  std::vector<T> other(mine.size());
  for (int r = 0; r < comm.size(); ++r) {
    if (r == comm.rank())
      std::copy(own.begin(), own.end(), other.begin());
    else
      comm.recv(r, std::as_writable_bytes(std::span(other)), kRaggedTag);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = r == 0 ? to_float(other[i]) : sum[i] + to_float(other[i]);
    }
  }
  std::transform(sum.begin(), sum.end(), mine.begin(), rounded_to<T>);
}

}  // namespace

void Communicator::reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                                         std::span<const std::int64_t> elements) {
  reduce_ragged(*this, all, mine, elements);
}
void Communicator::reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                                         std::span<const std::int64_t> elements) {
  reduce_ragged(*this, all, mine, elements);
}

}  // namespace pleat
