// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace pleat {
namespace {

template <class Function>
bool has(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
  if (!has(library, name, function)) throw std::runtime_error(fmt::format("NCCL has no {}", name));
}

void find_windows(void* library, NcclFunctions& f) {
  const bool all = has(library, "ncclMemAlloc", f.mem_alloc) &&
                   has(library, "ncclMemFree", f.mem_free) &&
                   has(library, "ncclCommWindowDeregister", f.comm_window_deregister) &&
                   has(library, "ncclCommWindowRegister", f.comm_window_register);
  if (all) return;
  f.mem_alloc = nullptr, f.mem_free = nullptr;
  f.comm_window_register = nullptr, f.comm_window_deregister = nullptr;
}

}  // namespace

std::shared_ptr<const NcclFunctions> load_nccl(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(fmt::format("NCCL cannot be loaded: {}", dlerror()));
  auto f = std::make_shared<NcclFunctions>();
  find(library, "ncclGetVersion", f->get_version);
  find(library, "ncclGetUniqueId", f->get_unique_id);
  find(library, "ncclCommInitRankConfig", f->comm_init_rank_config);
  find(library, "ncclCommDestroy", f->comm_destroy);
  find(library, "ncclCommAbort", f->comm_abort);
  find(library, "ncclCommGetAsyncError", f->comm_get_async_error);
  find(library, "ncclGetErrorString", f->get_error_string);
  find(library, "ncclAllGather", f->all_gather);
  find(library, "ncclAllReduce", f->all_reduce);
  find(library, "ncclReduceScatter", f->reduce_scatter);
  find(library, "ncclSend", f->send);
  find(library, "ncclRecv", f->recv);
  find(library, "ncclGroupStart", f->group_start);
  find(library, "ncclGroupEnd", f->group_end);
  find_windows(library, *f);
  return f;
}

}  // namespace pleat
