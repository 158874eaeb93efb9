// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_memory.hpp"

#include <exception>

namespace pleat {

std::byte* NcclMemory::allocate(std::int64_t bytes) {
  device_.synchronize();  // makes the device the thread's current one, too
  void* data = nullptr;
  const bool given = functions_->has_windows() && bytes > 0 &&
                     functions_->mem_alloc(&data, static_cast<std::size_t>(bytes)) == kNcclSuccess;
  if (!given) return device_.memory().allocate(bytes);
  auto* const piece = static_cast<std::byte*>(data);
  device_.adopt(piece, bytes);
  mapped_->insert(piece);
  return piece;
}

void NcclMemory::release(std::byte* data) noexcept {
  if (mapped_->erase(data) == 0) return device_.memory().release(data);
  device_.let_go(data);
  try {
    device_.synchronize();           // pages are taken away from under work that uses them
  } catch (const std::exception&) {  // a lost peer, which others report
  }
  functions_->mem_free(data);  // a failure belongs to earlier work; it is reported there
}

}  // namespace pleat
