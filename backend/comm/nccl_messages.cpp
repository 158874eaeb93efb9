// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_messages.hpp"

#include <vector>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kNotes = -1;  // a tag that no message has
constexpr int kSender = 0, kReceiver = 1;

struct Note {
  std::int64_t bytes = 0;
  std::int32_t tag = 0, padding = 0;
};

struct Ids {  // of what a member sends
  NcclId to_next, to_previous;
};

// The device's first stream is in use again whatever happens: work after a lost peer is of it.
class BackToFirst {
 public:
  explicit BackToFirst(Device& device) : device_(device) {}
  ~BackToFirst() { device_.take_stream(0); }
  BackToFirst(const BackToFirst&) = delete;
  BackToFirst& operator=(const BackToFirst&) = delete;

 private:
  Device& device_;
};

}  // namespace

NcclMessages::~NcclMessages() {
  for (auto& [ends, c] : channels_) {
    if (c.comm != nullptr) job_.functions->comm_destroy(c.comm);
  }
}

void NcclMessages::abandon() {
  for (auto& [ends, c] : channels_) {
    if (c.comm != nullptr) job_.functions->comm_abort(std::exchange(c.comm, nullptr));
  }
}

void NcclMessages::poll() {
  for (const auto& [ends, c] : channels_) {
    if (c.comm == nullptr) continue;
    int result = kNcclSuccess;
    require_nccl(job_, c.comm, job_.functions->comm_get_async_error(c.comm, &result),
                 "ncclCommGetAsyncError");
    if (result != kNcclInProgress) require_nccl(job_, c.comm, result, "NCCL");
  }
}

bool NcclMessages::reaches(int peer) const {
  const int n = by_host_.size(), distance = (peer - by_host_.rank() + n) % n;
  return device_.has_streams() && (distance == 1 || distance == n - 1) && n > 1;
}

// Pair after pair in an order that all members share; every other pair at once.
void NcclMessages::meet() {
  if (!channels_.empty()) return;
  const int n = by_host_.size(), me = by_host_.rank();
  Ids mine;
  for (NcclId* id : {&mine.to_next, &mine.to_previous}) {
    require_nccl(job_, nullptr, job_.functions->get_unique_id(id), "ncclGetUniqueId");
  }
  std::vector<Ids> ids(static_cast<std::size_t>(n));
  by_host_.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(ids)));
  device_.synchronize();  // makes the device the thread's current one, too
  for (const int first : {0, 1}) {
    for (int a = first; a < (n == 2 ? 1 : n); a += 2) {
      const int b = (a + 1) % n;
      if (me != a && me != b) continue;
      join(a, b, ids[static_cast<std::size_t>(a)].to_next);
      join(b, a, ids[static_cast<std::size_t>(b)].to_previous);
    }
  }
}

void NcclMessages::join(int from, int to, const NcclId& id) {
  Channel& c = channels_[{from, to}];
  c.stream = (*job_.free_stream)++;
  c.room = std::make_unique<Arena>(device_.memory(), false);
  NcclConfig config;
  const int rank = by_host_.rank() == from ? kSender : kReceiver;
  const int result = job_.functions->comm_init_rank_config(&c.comm, 2, id, rank, &config);
  require_nccl(job_, c.comm, result, "ncclCommInitRankConfig");
  // NCCL connects two ranks at their first message, and who comes first waits on the host: here
  // both are, later a sender would wait for a peer that sends first, too.
  const Block byte = c.room->allocate(1);
  const BackToFirst guard(device_);
  device_.take_stream(c.stream);
  give(c, byte.data(), 1, rank == kSender);
  device_.synchronize();
}

void NcclMessages::begin(const Channel& c) {
  const std::uint64_t before = device_.mark();
  device_.take_stream(c.stream);
  device_.wait_for(0, before);
}

void NcclMessages::give(Channel& c, std::byte* data, std::int64_t bytes, bool sends) {
  if (bytes == 0) return;
  const auto count = static_cast<std::size_t>(bytes);
  const NcclFunctions& f = *job_.functions;
  require_nccl(job_, c.comm, f.group_start(), "ncclGroupStart");
  if (sends) {
    require_nccl(job_, c.comm, f.send(data, count, kNcclBytes, kReceiver, c.comm, device_.stream()),
                 "ncclSend");
  } else {
    require_nccl(job_, c.comm, f.recv(data, count, kNcclBytes, kSender, c.comm, device_.stream()),
                 "ncclRecv");
  }
  require_nccl(job_, c.comm, f.group_end(), "ncclGroupEnd");
}

void NcclMessages::send(int to, std::span<const std::byte> data, int tag) {
  job_.check();
  meet();
  Channel& c = channels_.at({by_host_.rank(), to});
  const Note note{std::ssize(data), tag};
  by_host_.send(to, std::as_bytes(std::span(&note, 1)), kNotes);
  while (!c.under_way.empty() && device_.is_done(c.stream, c.under_way.front().first)) {
    c.under_way.pop_front();
  }
  Block copy = c.room->allocate(note.bytes);
  device_.enqueue_copy(copy.data(), data.data(), note.bytes);
  const BackToFirst guard(device_);
  begin(c);
  give(c, copy.data(), note.bytes, true);
  c.under_way.emplace_back(device_.mark(), std::move(copy));
}

void NcclMessages::recv(int from, std::span<std::byte> data, int tag) {
  job_.check();
  meet();
  Channel& c = channels_.at({from, by_host_.rank()});
  std::uint64_t received = 0;
  {
    const BackToFirst guard(device_);
    begin(c);
    received = take(c, from, data, tag);
  }
  device_.wait_for(c.stream, received);
}

std::uint64_t NcclMessages::take(Channel& c, int from, std::span<std::byte> data, int tag) {
  auto& waiting = c.early[tag];
  while (waiting.empty()) {
    Note note;
    by_host_.recv(from, std::as_writable_bytes(std::span(&note, 1)), kNotes);
    if (note.tag == tag) {
      PLEAT_ASSERT(note.bytes == std::ssize(data));
      give(c, data.data(), note.bytes, false);
      break;
    }
    Block block = c.room->allocate(note.bytes);
    give(c, block.data(), note.bytes, false);
    c.early[note.tag].push_back(std::move(block));
  }
  if (!waiting.empty()) {
    PLEAT_ASSERT(waiting.front().bytes() == std::ssize(data));
    device_.enqueue_copy(data.data(), waiting.front().data(), std::ssize(data));
    waiting.pop_front();
  }
  if (waiting.empty()) c.early.erase(tag);
  return device_.mark();
}

}  // namespace pleat
