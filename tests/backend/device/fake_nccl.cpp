// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's functions over the threads of one process and the streams of checking devices: a call puts
// its work into the stream, where it waits for the other ranks', and a communicator is being made
// until all have come, a send for its receive. Sums are in rank order. A window is there when all
// members have registered as many bytes of its memory; a collective on one whose members pass other
// offsets, where its kernels would need the same, is misuse.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "backend/comm/nccl_library.hpp"
#include "core/numerics/small_float.hpp"
#include "tests/backend/device/checking_kernels.hpp"

namespace {

using pleat::NcclId;
using pleat::test::seen_by_device;
using pleat::test::WorkQueue;
using Bytes = std::vector<std::byte>;

constexpr int kRemoteError = 6, kInvalidUsage = 5, kInvalidArgument = 4;
constexpr std::ptrdiff_t kOutside = -1;  // of every window

struct Round {
  std::map<int, const std::byte*> inputs;
  std::map<int, std::ptrdiff_t> offsets;  // in the member's window, of what all must have alike
  std::size_t read = 0;
};

struct Sent {
  Bytes bytes;
  std::shared_ptr<bool> taken;
};

struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t size = 0, joined = 0;
  bool aborted = false, misused = false;
  std::map<std::uint64_t, Round> rounds;
  std::map<std::pair<int, int>, std::deque<Sent>> messages;  // from, to
  std::map<int, std::size_t> registered;                     // bytes, by member
};

struct Window {
  const std::byte* data;
  std::size_t bytes;
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0;
  std::uint64_t next_round = 0;
  std::shared_ptr<Window> window = {};
  void** wanted = nullptr;  // where the window goes once all have come

  [[nodiscard]] std::ptrdiff_t offset(const void* at) const {
    const auto* data = static_cast<const std::byte*>(at);
    if (window == nullptr || data < window->data || data >= window->data + window->bytes)
      return kOutside;
    return data - window->data;
  }
};

struct PointToPoint {
  Comm* comm;
  WorkQueue* stream;
  bool sends;
  int peer;
  std::byte* data;
  std::size_t bytes;
};

std::mutex all_mutex;
std::map<std::string, std::shared_ptr<Group>> all_groups;
std::map<const void*, std::size_t> all_memory;  // that was allocated here
std::atomic<int> open_windows = 0, calls_in_windows = 0;
std::atomic<bool> alone = false;
thread_local bool in_group = false;
thread_local std::vector<PointToPoint> waiting;

std::size_t bytes_of(int type) {
  return type == pleat::kNcclBytes ? 1 : type == pleat::kNcclBf16 ? 2 : 4;
}

// Waits for all ranks' inputs; `use` sees them in rank order. Nobody goes on before all have.
template <class Use>
void meet(Group& g, int rank, std::uint64_t number, const std::byte* input, std::ptrdiff_t offset,
          Use use) {
  std::unique_lock lock(g.mutex);
  Round& round = g.rounds[number];
  round.inputs[rank] = input;
  round.offsets[rank] = offset;
  for (const auto& [other, at] : round.offsets) g.misused = g.misused || at != offset;
  g.changed.notify_all();
  g.changed.wait(lock, [&] { return g.aborted || round.inputs.size() == g.size; });
  if (g.aborted) return;
  use(round.inputs);
  ++round.read;
  g.changed.notify_all();
  g.changed.wait(lock, [&] { return g.aborted || round.read >= g.size; });
}

template <class T>
void add_up(const std::map<int, const std::byte*>& inputs, std::size_t first, std::size_t count,
            Bytes& to) {
  to.resize(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (const auto& [rank, input] : inputs) {
      const float x = pleat::to_float(reinterpret_cast<const T*>(input)[first + i]);
      sum = rank == 0 ? x : sum + x;
    }
    reinterpret_cast<T*>(to.data())[i] = pleat::rounded_to<T>(sum);
  }
}

// `result(inputs)`: what this rank gets. `alike`: what members must have at the same offset of
// their windows, if it is in one.
template <class Result>
int collective(void* comm, void* stream, const void* from, void* to, const void* alike,
               Result result) {
  auto& c = *static_cast<Comm*>(comm);
  const std::ptrdiff_t offset = c.offset(alike);
  if (c.offset(from) != kOutside && c.offset(to) != kOutside) ++calls_in_windows;
  static_cast<WorkQueue*>(stream)->add([group = c.group, rank = c.rank, number = c.next_round++,
                                        from, to, offset, result] {
    Bytes bytes;
    meet(*group, rank, number, static_cast<const std::byte*>(seen_by_device(from)), offset,
         [&](const auto& inputs) { bytes = result(inputs); });
    if (!bytes.empty()) std::memcpy(seen_by_device(to), bytes.data(), bytes.size());
  });
  return pleat::kNcclSuccess;
}

int reduce(void* comm, void* stream, const void* from, void* to, std::size_t first,
           std::size_t count, int type) {
  return collective(comm, stream, from, to, from, [=](const auto& inputs) {
    Bytes sum;
    type == pleat::kNcclBf16 ? add_up<pleat::Bf16>(inputs, first, count, sum)
                             : add_up<float>(inputs, first, count, sum);
    return sum;
  });
}

void exchange(const std::vector<PointToPoint>& calls) {
  std::vector<std::pair<Group*, std::shared_ptr<bool>>> taken;
  for (const bool sends : {true, false}) {
    for (const PointToPoint& p : calls) {
      if (p.sends != sends) continue;
      Group& g = *p.comm->group;
      std::unique_lock lock(g.mutex);
      if (sends) {
        taken.push_back({&g, std::make_shared<bool>(false)});
        g.messages[{p.comm->rank, p.peer}].push_back(
            {Bytes(p.data, p.data + p.bytes), taken.back().second});
        g.changed.notify_all();
        continue;
      }
      auto& inbox = g.messages[{p.peer, p.comm->rank}];
      g.changed.wait(lock, [&] { return g.aborted || !inbox.empty(); });
      if (g.aborted) return;
      g.misused = g.misused || inbox.front().bytes.size() != p.bytes;
      if (!g.misused) std::memcpy(p.data, inbox.front().bytes.data(), p.bytes);
      *inbox.front().taken = true;
      inbox.pop_front();
      g.changed.notify_all();
    }
  }
  for (const auto& [group, done] : taken) {
    std::unique_lock lock(group->mutex);
    group->changed.wait(lock, [&] { return group->aborted || *done; });
  }
}

int add_call(void* comm, void* stream, bool sends, int peer, const void* data, std::size_t bytes) {
  if (!in_group) return kInvalidUsage;
  waiting.push_back({static_cast<Comm*>(comm), static_cast<WorkQueue*>(stream), sends, peer,
                     static_cast<std::byte*>(const_cast<void*>(seen_by_device(data))), bytes});
  return pleat::kNcclSuccess;
}

}  // namespace

extern "C" {

// Members in other processes never come: collectives with them do not end.
void fakeNcclLeaveAlone() { alone = true; }

int fakeNcclCallsInWindows() { return calls_in_windows; }
int fakeNcclOpenWindows() { return open_windows; }

#ifdef PLEAT_FAKE_NCCL_OLD
int ncclGetVersion(int* version) { return *version = 22403, pleat::kNcclSuccess; }
#else
int ncclGetVersion(int* version) { return *version = 22809, pleat::kNcclSuccess; }

int ncclMemAlloc(void** data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  void* const here = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  *data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(here) | pleat::test::kDeviceBit);
  const std::lock_guard lock(all_mutex);
  all_memory[*data] = bytes;
  return pleat::kNcclSuccess;
}

int ncclMemFree(void* data) {
  const std::lock_guard lock(all_mutex);
  if (all_memory.erase(data) == 0) return kInvalidArgument;
  std::free(seen_by_device(data));
  return pleat::kNcclSuccess;
}

int ncclCommWindowRegister(void* comm, void* data, std::size_t bytes, void** window, int flags) {
  auto& c = *static_cast<Comm*>(comm);
  const std::lock_guard lock(all_mutex);
  const auto memory = all_memory.find(data);
  if (memory == all_memory.end() || memory->second < bytes || flags != pleat::kNcclSymmetric ||
      c.window != nullptr) {
    return kInvalidArgument;
  }
  c.window = std::make_shared<Window>(static_cast<const std::byte*>(data), bytes);
  c.wanted = window;
  const std::lock_guard inside(c.group->mutex);
  c.group->registered[c.rank] = bytes;
  for (const auto& [other, size] : c.group->registered) {
    c.group->misused = c.group->misused || size != bytes;
  }
  return pleat::kNcclInProgress;
}

int ncclCommWindowDeregister(void* comm, void* window) {
  auto& c = *static_cast<Comm*>(comm);
  const std::lock_guard lock(all_mutex);
  if (window == nullptr || window != c.window.get() || !all_memory.contains(c.window->data)) {
    std::abort();  // twice, another's, or its memory is gone
  }
  c.window = nullptr;
  --open_windows;
  return pleat::kNcclSuccess;
}
#endif

int ncclGetUniqueId(NcclId* id) {
  static int number = 0;
  const std::lock_guard lock(all_mutex);
  std::strcpy(id->bytes, std::to_string(++number).c_str());
  return pleat::kNcclSuccess;
}

int ncclCommInitRankConfig(void** comm, int ranks, NcclId id, int rank,
                           const pleat::NcclConfig* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0) return kInvalidUsage;
  const std::lock_guard lock(all_mutex);
  auto& group = all_groups[id.bytes];
  if (group == nullptr) group = std::make_shared<Group>();
  const std::lock_guard inside(group->mutex);
  group->size = static_cast<std::size_t>(ranks);
  group->joined = alone ? group->size : group->joined + 1;
  *comm = new Comm{group, rank};
  return pleat::kNcclInProgress;
}

int ncclCommDestroy(void* comm) {
  auto* const c = static_cast<Comm*>(comm);
  if (c->window != nullptr) std::abort();  // nobody has taken it back
  delete c;
  return pleat::kNcclSuccess;
}

int ncclCommAbort(void* comm) {
  auto* const c = static_cast<Comm*>(comm);
  {
    const std::lock_guard lock(c->group->mutex);
    c->group->aborted = true;
    c->group->changed.notify_all();
  }
  if (c->window != nullptr && c->wanted == nullptr) --open_windows;
  delete c;
  return pleat::kNcclSuccess;
}

int ncclCommGetAsyncError(void* comm, int* result) {
  auto& c = *static_cast<Comm*>(comm);
  Group& g = *c.group;
  const std::lock_guard lock(g.mutex);
  const bool waits = g.joined < g.size || (c.wanted != nullptr && g.registered.size() < g.size);
  *result = g.aborted   ? kRemoteError
            : g.misused ? kInvalidUsage
            : waits     ? pleat::kNcclInProgress
                        : pleat::kNcclSuccess;
  if (*result == pleat::kNcclSuccess && c.wanted != nullptr) {
    *std::exchange(c.wanted, nullptr) = c.window.get();
    ++open_windows;
  }
  return pleat::kNcclSuccess;
}

const char* ncclGetErrorString(int result) {
  return result == kRemoteError       ? "remote error"
         : result == kInvalidArgument ? "invalid argument"
                                      : "invalid usage";
}

int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* comm,
                  void* stream) {
  return collective(comm, stream, from, to, to,
                    [bytes = count * bytes_of(type)](const auto& inputs) {
                      Bytes all;
                      for (const auto& [rank, input] : inputs)
                        all.insert(all.end(), input, input + bytes);
                      return all;
                    });
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, void* comm,
                  void* stream) {
  return reduce(comm, stream, from, to, 0, count, type);
}

int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int, void* comm,
                      void* stream) {
  const auto rank = static_cast<std::size_t>(static_cast<Comm*>(comm)->rank);
  return reduce(comm, stream, from, to, rank * count, count, type);
}

int ncclSend(const void* from, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add_call(comm, stream, true, peer, from, count * bytes_of(type));
}

int ncclRecv(void* to, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add_call(comm, stream, false, peer, to, count * bytes_of(type));
}

int ncclGroupStart() { return in_group = true, pleat::kNcclSuccess; }

int ncclGroupEnd() {
  in_group = false;
  std::vector<PointToPoint> calls = std::exchange(waiting, {});
  if (calls.empty()) return pleat::kNcclSuccess;
  WorkQueue& stream = *calls.front().stream;
  // The communicator may be gone when the work's turn comes, the group is not.
  std::vector<std::shared_ptr<Comm>> kept;
  for (PointToPoint& p : calls) {
    kept.push_back(std::make_shared<Comm>(*p.comm));
    p.comm = kept.back().get();
  }
  stream.add([calls = std::move(calls), kept = std::move(kept)] { exchange(calls); });
  return pleat::kNcclSuccess;
}

}  // extern "C"
