// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NCCL: the functions that we call from its library, and what the communicators of a rank share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace pleat {

// The functions of NCCL that are called here, from the library that is found when they are first
// needed: a program that never asks for it runs where there is none. Numbers and layouts are those
// of NCCL's C interface, the same since 2.18; windows came with 2.27.

struct NcclId {
  char bytes[128] = {};
};
using NcclComm = void*;
using NcclStream = void*;  // a cudaStream_t
using NcclWindow = void*;  // an ncclWindow_t

// The head of NCCL's settings, as version 2.14 had them; the library takes its own for the rest.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

inline constexpr int kNcclSuccess = 0, kNcclInProgress = 7;
inline constexpr int kNcclBytes = 1, kNcclFp32 = 7, kNcclBf16 = 9;  // ncclUint8, …
inline constexpr int kNcclSum = 0;
inline constexpr int kNcclSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

struct NcclFunctions {
  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(NcclId*) = nullptr;
  int (*comm_init_rank_config)(NcclComm*, int ranks, NcclId, int rank, NcclConfig*) = nullptr;
  int (*comm_destroy)(NcclComm) = nullptr;
  int (*comm_abort)(NcclComm) = nullptr;
  int (*comm_get_async_error)(NcclComm, int* result) = nullptr;
  const char* (*get_error_string)(int result) = nullptr;
  int (*all_gather)(const void* from, void* to, std::size_t count, int type, NcclComm,
                    NcclStream) = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int op, NcclComm,
                    NcclStream) = nullptr;
  int (*reduce_scatter)(const void* from, void* to, std::size_t count, int type, int op, NcclComm,
                        NcclStream) = nullptr;
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm,
              NcclStream) = nullptr;
  int (*recv)(void* to, std::size_t count, int type, int peer, NcclComm, NcclStream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  // All four, or null in a library without windows.
  int (*mem_alloc)(void** data, std::size_t bytes) = nullptr;  // on the current device
  int (*mem_free)(void* data) = nullptr;
  int (*comm_window_register)(NcclComm, void* data, std::size_t bytes, NcclWindow*,
                              int flags) = nullptr;
  int (*comm_window_deregister)(NcclComm, NcclWindow) = nullptr;
  [[nodiscard]] bool has_windows() const { return comm_window_register != nullptr; }
};

// Loads `file`, which stays loaded. Throws std::runtime_error that names what is missing.
[[nodiscard]] std::shared_ptr<const NcclFunctions> load_nccl(
    const std::string& file = "libnccl.so.2");

// What a rank's NCCL communicators share.

struct NcclSettings {
  // Sums in the order of the members, by exchanging the parts: the bits of all other transports, as
  // many bytes, more memory.
  bool ordered_sums = false;
  // Memory that collectives run on again and again in symmetric windows (nccl_window.hpp), where
  // all ranks of a group can. All ranks of the job set it alike.
  bool windows = false;
  // Called with a line that says whether a group got its window; may be empty.
  std::function<void(const std::string&)> say = {};
};

class NcclCommunicator;

struct NcclJob {
  std::shared_ptr<const NcclFunctions> functions;
  NcclSettings settings;
  // Called again and again while a call waits; throws when the job has been given up.
  std::function<void()> check;
  // All communicators of the rank. Only its own thread uses this set.
  std::shared_ptr<std::set<NcclCommunicator*>> alive;
  // The number of the device's next free stream; each direction of messages takes one. Lower
  // numbers are the executor's (backend/execute_streams.cpp).
  std::shared_ptr<int> free_stream = std::make_shared<int>(8);
  // The memory that NCCL allocated for the rank. Windows can be made of no other memory.
  std::shared_ptr<std::set<const std::byte*>> mapped =
      std::make_shared<std::set<const std::byte*>>();
};

// The call's result when NCCL is done with it. Throws when the job has been given up meanwhile.
[[nodiscard]] int nccl_result(const NcclJob&, NcclComm, int result);

// The same, and throws if it is not success: what the job knows of a lost rank before what NCCL
// says of itself.
void require_nccl(const NcclJob&, NcclComm, int result, const char* call);

}  // namespace pleat
