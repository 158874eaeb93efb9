// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over any transport, of host memory or of devices'.
#include "calibration/microbench/rank_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/runtime/slab.hpp"
#include "calibration/microbench/expert_rows.hpp"

namespace pleat {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// Bytes from each member to each.
std::vector<std::vector<std::int64_t>> exchanged(const CollectivePoint& p) {
  const auto members = static_cast<std::size_t>(p.group);
  if (p.rows != RowShares::even) {
    auto bytes = expert_rows(p.rows, p.group, p.bytes / kExpertRowBytes);
    for (auto& row : bytes)
      for (std::int64_t& b : row) b *= kExpertRowBytes;
    return bytes;
  }
  const bool pair = p.kind == Collective::send_recv;
  std::vector<std::vector<std::int64_t>> bytes(members);
  for (std::size_t from = 0; from < members; ++from) {
    bytes[from].assign(members, pair ? p.bytes : p.bytes / p.group / 4 * 4);
    if (pair) bytes[from][from] = 0;
  }
  return bytes;
}

}  // namespace

// Words in memory of a device's, all `value` at first. (Half of one is 0.25 or 0.5 in bf16, too,
// the other half 0.)
class RankWork::Words {
 public:
  Words(Device& device, Memory& memory, std::size_t bytes, float value)
      : memory_(memory), data_(memory_.allocate(static_cast<std::int64_t>(bytes))), bytes_(bytes) {
    const std::size_t count = (bytes + sizeof(float) - 1) / sizeof(float);
    const std::vector<float> some(std::min(count, std::size_t{1} << 20U), value);
    for (std::size_t at = 0; at < bytes; at += some.size() * sizeof(float)) {
      const std::size_t now = std::min(some.size() * sizeof(float), bytes - at);
      device.copy(data_ + at, some.data(), static_cast<std::int64_t>(now));
    }
  }
  ~Words() { memory_.release(data_); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  template <class T>
  [[nodiscard]] std::span<T> first(std::size_t count) const {
    return {reinterpret_cast<T*>(data_), count};
  }
  [[nodiscard]] std::span<std::byte> bytes(std::int64_t count) const {
    return {data_, static_cast<std::size_t>(count)};
  }
  [[nodiscard]] std::span<std::byte> all() const { return {data_, bytes_}; }

 private:
  Memory& memory_;
  std::byte* data_;
  std::size_t bytes_;
};

struct RankWork::OneSlab {
  OneSlab(std::unique_ptr<Memory> of, std::int64_t bytes, Device& device)
      : memory(std::move(of)), slab(*memory, 2 * Slab::room(bytes), device.memory()) {}
  std::unique_ptr<Memory> memory;
  Slab slab;
};

RankWork::RankWork(Communicator& comm, Device& device, const CollectivePoint& p)
    : comm_(comm), point_(p) {
  const auto me = static_cast<std::size_t>(comm.rank());
  const auto all = exchanged(p);
  send_ = all[me];
  for (const auto& from : all) recv_.push_back(from[me]);
  if (p.windows) {
    if (auto memory = comm.window_memory()) {
      slab_ = std::make_unique<OneSlab>(std::move(memory), p.bytes, device);
    }
  }
  Memory& memory = slab_ != nullptr ? slab_->slab : device.memory();
  // Ranks pair up to a sum of zero, so that repeated reductions in place stay finite.
  const auto whole = static_cast<std::size_t>(std::max(p.bytes / 4 * 4, sum(send_)));
  const auto other = static_cast<std::size_t>(std::max(p.bytes / 4 * 4, sum(recv_)));
  whole_ = std::make_unique<Words>(device, memory, whole, comm.rank() % 2 == 0 ? 0.25F : -0.25F);
  other_ = std::make_unique<Words>(device, memory, other, 0.5F);
  if (slab_ == nullptr) return;
  window_ = comm.register_window({.memory = slab_->slab.whole(),
                                  .group = fmt::format("{} ranks", comm.size()),
                                  .announced = false});
}

RankWork::~RankWork() = default;  // the window before its memory

template <class T>
void RankWork::reduce() {
  const auto members = static_cast<std::size_t>(comm_.size());
  const std::size_t share = static_cast<std::size_t>(point_.bytes) / sizeof(T) / members;
  if (point_.kind == Collective::all_reduce) {
    comm_.all_reduce(whole_->first<T>(share * members));
  } else {
    comm_.reduce_scatter(std::span<const T>(whole_->first<T>(share * members)),
                         other_->first<T>(share));
  }
}

void RankWork::run() {
  switch (point_.kind) {
    case Collective::all_gather: {
      const std::int64_t share = point_.bytes / 4 / comm_.size() * 4;
      comm_.all_gather(other_->bytes(share), whole_->bytes(share * comm_.size()));
      return;
    }
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      point_.type == DType::bf16 ? reduce<Bf16>() : reduce<float>();
      return;
    case Collective::all_to_all:
      comm_.all_to_all(whole_->bytes(sum(send_)), send_, other_->bytes(sum(recv_)), recv_);
      return;
    case Collective::send_recv:
      message();
      return;
  }
}

void RankWork::message() {
  const int peer = 1 - comm_.rank();
  switch (point_.messages) {
    case Messages::ping_pong:
      if (comm_.rank() != 0) comm_.recv(peer, other_->all(), 0);
      comm_.send(peer, whole_->all(), 0);
      if (comm_.rank() == 0) comm_.recv(peer, other_->all(), 0);
      return;
    case Messages::both_ways:
      comm_.send(peer, whole_->all(), 0);
      comm_.recv(peer, other_->all(), 0);
      return;
    case Messages::in_one_call:
      comm_.all_to_all(whole_->all(), send_, other_->all(), recv_);
      return;
  }
}

double wire_bytes(const CollectivePoint& p) {
  if (p.rows != RowShares::even) {
    return static_cast<double>(kExpertRowBytes *
                               busiest(expert_rows(p.rows, p.group, p.bytes / kExpertRowBytes)));
  }
  const auto bytes = static_cast<double>(p.bytes);
  const double others = static_cast<double>(p.group - 1) / p.group;
  switch (p.kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return bytes * others;
    case Collective::all_reduce:
      return 2 * bytes * others;
    case Collective::send_recv:
      return bytes;
  }
  return 0;
}

namespace {

constexpr std::int64_t kUsed = std::int64_t{1} << 20U;

}  // namespace

std::int64_t communicator_bytes(RankRunner& runner, int ranks) {
  std::int64_t before = 0, after = 0;
  const auto note = [&](int rank, Communicator& comm, std::int64_t& bytes) {
    Device& device = runner.device(rank);
    device.synchronize();
    comm.barrier();  // no rank is at work with another's memory
    if (rank == 0) bytes = device.used_bytes();
    comm.barrier();
  };
  const auto use = [&](int rank, Communicator& comm) {
    for (const Collective kind :
         {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
      RankWork work(comm, runner.device(rank),
                    {.kind = kind, .group = ranks, .ranks = ranks, .bytes = kUsed});
      work.run();
      runner.device(rank).synchronize();
      comm.barrier();
    }
  };
  const RankGroups groups{.ranks = ranks, .group = ranks};
  runner.run(groups, [&](int rank, Communicator& comm) {
    use(rank, comm);  // what is loaded once is there
    note(rank, comm, before);
  });
  runner.run({.ranks = ranks, .group = ranks, .fresh = true}, [&](int rank, Communicator& comm) {
    use(rank, comm);
    note(rank, comm, after);
  });
  return after - before;
}

}  // namespace pleat
