// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_communicator.hpp"

#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "backend/comm/communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::chrono::seconds kNameSeconds{5};

int type_of(DType type) { return type == DType::bf16 ? kNcclBf16 : kNcclFp32; }

}  // namespace

int nccl_result(const NcclJob& job, NcclComm comm, int result) {
  while (result == kNcclInProgress) {
    job.check();
    std::this_thread::yield();
    if (job.functions->comm_get_async_error(comm, &result) != kNcclSuccess) break;
  }
  return result;
}

void require_nccl(const NcclJob& job, NcclComm comm, int result, const char* call) {
  result = nccl_result(job, comm, result);
  if (result == kNcclSuccess) return;
  // A peer's end may be known here before its name is.
  const auto end = std::chrono::steady_clock::now() + kNameSeconds;
  while (std::chrono::steady_clock::now() < end) {
    job.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error(fmt::format("{}: {}", call, job.functions->get_error_string(result)));
}

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> by_host, Device& device,
                                   NcclJob job)
    : staged_(std::move(by_host), device), device_(device), job_(std::move(job)) {
  job_.alive->insert(this);
}

NcclCommunicator::~NcclCommunicator() {
  job_.alive->erase(this);
  window_.close(comm_);
  if (comm_ != nullptr) job_.functions->comm_destroy(comm_);
}

void NcclCommunicator::abandon() {
  messages_.abandon();
  if (comm_ != nullptr) job_.functions->comm_abort(std::exchange(comm_, nullptr));
}

void NcclCommunicator::require(int result, const char* call) {
  require_nccl(job_, comm_, result, call);
}

void NcclCommunicator::require_alive() {
  job_.check();
  int result = kNcclSuccess;
  require(job_.functions->comm_get_async_error(comm_, &result), "ncclCommGetAsyncError");
  require(result, "NCCL");
}

void NcclCommunicator::poll() {
  messages_.poll();
  if (comm_ == nullptr) return;
  int result = kNcclSuccess;
  require(job_.functions->comm_get_async_error(comm_, &result), "ncclCommGetAsyncError");
  if (result != kNcclInProgress) require(result, "NCCL");
}

void NcclCommunicator::meet() {
  if (comm_ != nullptr) return require_alive();
  NcclId id;
  if (rank() == 0) require(job_.functions->get_unique_id(&id), "ncclGetUniqueId");
  std::vector<NcclId> ids(static_cast<std::size_t>(size()));
  staged_.all_gather(std::as_bytes(std::span(&id, 1)), std::as_writable_bytes(std::span(ids)));
  NcclConfig config;
  device_.synchronize();  // makes the device the thread's current one, too
  require(job_.functions->comm_init_rank_config(&comm_, size(), ids.front(), rank(), &config),
          "ncclCommInitRankConfig");
}

std::unique_ptr<Memory> NcclCommunicator::window_memory() {
  if (!job_.settings.windows) return nullptr;
  return std::make_unique<NcclMemory>(device_, job_);
}

std::shared_ptr<void> NcclCommunicator::register_window(const WindowBuffer& buffer) {
  if (!job_.settings.windows || size() == 1 || !window_.agreed(buffer)) return nullptr;
  meet();
  barrier();  // a member that is refused aborts, which no other may take for a failed meeting
  if (!window_.open(comm_, buffer)) return nullptr;
  return {this, [](void* me) {
            auto& self = *static_cast<NcclCommunicator*>(me);
            self.window_.close(self.comm_);
          }};
}

template <class Calls>
void NcclCommunicator::grouped(Calls calls) {
  require(job_.functions->group_start(), "ncclGroupStart");
  calls();
  require(job_.functions->group_end(), "ncclGroupEnd");
}

std::byte* NcclCommunicator::room(std::size_t bytes) {
  if (static_cast<std::int64_t>(bytes) > room_.bytes()) {
    device_.synchronize();  // its last user may be on another stream
    room_ = {};
    room_ = rooms_.allocate(static_cast<std::int64_t>(bytes));
  }
  return room_.data();
}

void NcclCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  if (!hidden(mine.data(), all.data())) return staged_.all_gather(mine, all);
  if (size() == 1) {
    if (mine.data() != all.data()) device_.enqueue_copy(all.data(), mine.data(), std::ssize(mine));
    return;
  }
  meet();
  require(job_.functions->all_gather(mine.data(), all.data(), mine.size(), kNcclBytes, comm_,
                                     device_.stream()),
          "ncclAllGather");
}

template <class T>
void NcclCommunicator::add_up(std::span<T> data, DType type) {
  if (!hidden(data.data())) return staged_.all_reduce(data);
  if (size() == 1) return;
  meet();
  if (!job_.settings.ordered_sums) {
    return require(job_.functions->all_reduce(data.data(), data.data(), data.size(), type_of(type),
                                              kNcclSum, comm_, device_.stream()),
                   "ncclAllReduce");
  }
  // Every member adds up a slice, then all gather the slices.
  const auto count = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  std::vector<std::int64_t> elements(count), bytes(count);
  std::size_t mine = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t begin = data.size() * r / count, end = data.size() * (r + 1) / count;
    elements[r] = static_cast<std::int64_t>(end - begin);
    bytes[r] = elements[r] * static_cast<std::int64_t>(sizeof(T));
    if (r == me) mine = begin;
  }
  const auto slice = data.subspan(mine, static_cast<std::size_t>(elements[me]));
  add_parts(std::span<const T>(data), slice, elements, type);
  all_gather_ragged(std::as_bytes(slice), std::as_writable_bytes(data), bytes);
}

template <class T>
void NcclCommunicator::add_pieces(std::span<const T> all, std::span<T> mine, DType type) {
  PLEAT_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(size()));
  if (!hidden(all.data(), mine.data())) return staged_.reduce_scatter(all, mine);
  const bool alone = size() == 1;
  if (alone || job_.settings.ordered_sums) {
    const std::vector<std::int64_t> elements(static_cast<std::size_t>(size()), std::ssize(mine));
    return add_parts(all, mine, elements, type);
  }
  meet();
  require(job_.functions->reduce_scatter(all.data(), mine.data(), mine.size(), type_of(type),
                                         kNcclSum, comm_, device_.stream()),
          "ncclReduceScatter");
}

template <class T>
void NcclCommunicator::add_parts(std::span<const T> all, std::span<T> mine,
                                 std::span<const std::int64_t> elements, DType type) {
  const auto count = static_cast<std::size_t>(size());
  const std::size_t share = mine.size_bytes();
  std::vector<std::int64_t> send_bytes, recv_bytes(count, static_cast<std::int64_t>(share));
  for (const std::int64_t n : elements) {
    send_bytes.push_back(n * static_cast<std::int64_t>(sizeof(T)));
  }
  std::byte* const parts = share == 0 ? nullptr : room(share * count);
  exchange(std::as_bytes(all), send_bytes, {parts, share * count}, recv_bytes);
  if (share == 0) return;
  std::vector<View> views;
  for (std::size_t r = 0; r < count; ++r) {
    views.push_back({parts + r * share, type, 1, std::ssize(mine)});
  }
  device_.sum_parts(views, {mine.data(), type, 1, std::ssize(mine)});
}

void NcclCommunicator::exchange(std::span<const std::byte> send,
                                std::span<const std::int64_t> send_bytes, std::span<std::byte> recv,
                                std::span<const std::int64_t> recv_bytes) {
  PLEAT_ASSERT(total(send_bytes) == std::ssize(send) && total(recv_bytes) == std::ssize(recv));
  const auto me = static_cast<std::size_t>(rank());
  const auto place = [](auto all, std::span<const std::int64_t> bytes, std::size_t r) {
    return all.subspan(static_cast<std::size_t>(total(bytes.first(r))),
                       static_cast<std::size_t>(bytes[r]));
  };
  const auto own = place(send, send_bytes, me);
  std::byte* const to = place(recv, recv_bytes, me).data();
  if (!own.empty() && to != own.data()) device_.enqueue_copy(to, own.data(), std::ssize(own));
  if (size() == 1) return;
  meet();
  grouped([&] {
    for (int turn = 1; turn < size(); ++turn) {
      const auto peer = (me + static_cast<std::size_t>(turn)) % static_cast<std::size_t>(size());
      const auto out = place(send, send_bytes, peer);
      const auto in = place(recv, recv_bytes, peer);
      const int p = static_cast<int>(peer);
      if (!out.empty()) {
        require(
            job_.functions->send(out.data(), out.size(), kNcclBytes, p, comm_, device_.stream()),
            "ncclSend");
      }
      if (!in.empty()) {
        require(job_.functions->recv(in.data(), in.size(), kNcclBytes, p, comm_, device_.stream()),
                "ncclRecv");
      }
    }
  });
}

void NcclCommunicator::all_to_all(std::span<const std::byte> send,
                                  std::span<const std::int64_t> send_bytes,
                                  std::span<std::byte> recv,
                                  std::span<const std::int64_t> recv_bytes) {
  exchange(send, send_bytes, recv, recv_bytes);
}

// The same share to everybody.
void NcclCommunicator::all_gather_ragged(std::span<const std::byte> mine, std::span<std::byte> all,
                                         std::span<const std::int64_t> bytes) {
  const auto me = static_cast<std::size_t>(rank());
  PLEAT_ASSERT(total(bytes) == std::ssize(all) && bytes[me] == std::ssize(mine));
  std::byte* const own = all.data() + total(bytes.first(me));
  if (!mine.empty() && own != mine.data()) device_.enqueue_copy(own, mine.data(), std::ssize(mine));
  if (size() == 1) return;
  meet();
  grouped([&] {
    std::byte* to = all.data();
    for (int r = 0; r < size(); ++r) {
      const auto share = static_cast<std::size_t>(bytes[static_cast<std::size_t>(r)]);
      if (r != rank() && !mine.empty()) {
        require(job_.functions->send(mine.data(), mine.size(), kNcclBytes, r, comm_,
                                     device_.stream()),
                "ncclSend");
      }
      if (r != rank() && share > 0) {
        require(job_.functions->recv(to, share, kNcclBytes, r, comm_, device_.stream()),
                "ncclRecv");
      }
      to += share;
    }
  });
}

void NcclCommunicator::send(int to, std::span<const std::byte> data, int tag) {
  const bool there = hidden(data.data()) && messages_.reaches(to);
  there ? messages_.send(to, data, tag) : staged_.send(to, data, tag);
}
void NcclCommunicator::recv(int from, std::span<std::byte> data, int tag) {
  const bool there = hidden(data.data()) && messages_.reaches(from);
  there ? messages_.recv(from, data, tag) : staged_.recv(from, data, tag);
}

}  // namespace pleat
