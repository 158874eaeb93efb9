// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives among the members of one group. Reductions add in rank order and in fp32, bf16 sums
// are rounded once: results are the same bits in every run and for every transport of this
// machine's own (threads, TCP, MPI). NCCL, behind the same interface, adds in an order of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/ids.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/device.hpp"

namespace pleat {

// Device memory that is laid out alike on every member of a group: what one finds at an offset, the
// others find their own of at the same offset.
struct WindowBuffer {
  std::span<std::byte> memory;  // the whole of one piece of Communicator::window_memory()
  std::uint64_t layout = 0;  // a number of the layout: members whose numbers differ are not alike
  std::string group = {};       // for messages
  bool announced = true;        // that it is registered is said, too, not only that it is not
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;  // in this group
  [[nodiscard]] virtual int size() const = 0;

  virtual void barrier() = 0;
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void all_reduce(std::span<float> data) = 0;  // in place, sum
  virtual void all_reduce(std::span<Bf16> data) = 0;
  virtual void reduce_scatter(std::span<const float> all, std::span<float> mine) = 0;  // sum
  virtual void reduce_scatter(std::span<const Bf16> all, std::span<Bf16> mine) = 0;
  // Ragged: send_bytes[r] bytes to member r, consecutive in `send`; received in member order.
  virtual void all_to_all(std::span<const std::byte> send, std::span<const std::int64_t> send_bytes,
                          std::span<std::byte> recv, std::span<const std::int64_t> recv_bytes) = 0;
  // The same of members that differ in their share: bytes[r] or elements[r] of member r's, in
  // member order. By messages unless the transport knows better; the sums add in member order too.
  virtual void all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                                 std::span<const std::int64_t> bytes);
  virtual void reduce_scatter_ragged(std::span<const float> all, std::span<float> mine,
                                     std::span<const std::int64_t> elements);
  virtual void reduce_scatter_ragged(std::span<const Bf16> all, std::span<Bf16> mine,
                                     std::span<const std::int64_t> elements);
  // Buffered: does not wait for the receiver.
  virtual void send(int to, std::span<const std::byte> data, int tag) = 0;
  virtual void recv(int from, std::span<std::byte> data, int tag) = 0;
  // Collectives in which members use each other's memory need memory of a special kind, and its
  // registration. All members register in the same order, once for each communicator, while their
  // devices are idle. The registration ends with the returned object, which must not outlive memory
  // and communicator. Null: the transport cannot do this or was not asked to; collectives work
  // without.
  [[nodiscard]] virtual std::unique_ptr<Memory> window_memory() { return nullptr; }
  [[nodiscard]] virtual std::shared_ptr<void> register_window(const WindowBuffer&) {
    return nullptr;
  }
};

// The transport of a whole job, one per rank: makes the communicators of its groups.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;
  // Every member calls it with the same ordered list.
  [[nodiscard]] virtual std::unique_ptr<Communicator> group(const std::vector<Rank>& members) = 0;
  // The same for memory of the device too, which must outlive it: by way of the host unless the
  // transport knows better. For a device that hides nothing it is group().
  [[nodiscard]] virtual std::unique_ptr<Communicator> group_on(Device&,
                                                               const std::vector<Rank>& members);
  // This rank gives up. Every rank that waits, or calls anything here afterwards, throws a
  // std::runtime_error that names this rank and the reason; the first call decides both.
  virtual void abort(const std::string& reason) = 0;
  // Throws what the ranks that wait throw, once one has given up.
  virtual void throw_if_aborted() const {}
};

// Members of a group as every transport takes them.

// Where `rank` stands among distinct members of a world.
[[nodiscard]] inline int place_among(const std::vector<Rank>& members, Rank rank, int world) {
  for (const Rank r : members) {
    PLEAT_ASSERT(r.value >= 0 && r.value < world);
    PLEAT_ASSERT(std::count(members.begin(), members.end(), r) == 1);
  }
  const auto place = std::find(members.begin(), members.end(), rank);
  PLEAT_ASSERT(place != members.end());
  return static_cast<int>(place - members.begin());
}

// Bytes or elements of all pieces together.
[[nodiscard]] inline std::int64_t total(std::span<const std::int64_t> pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0});
}

// Nothing to move may come with no address; and a member's own piece may already be in place.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

}  // namespace pleat
