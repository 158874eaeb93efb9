// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// operator new on mimalloc's malloc. That of mimalloc's library ends the program where there is no
// memory; this one throws, so that the command says so (command_line.cpp).
#include <mimalloc.h>

#include <cstdlib>
#include <new>

namespace {

// Freed memory goes back to the system after a second, and not after 25 ms (mimalloc 2.0): a search
// would fetch it again at once, which took 3% of its time. MIMALLOC_DECOMMIT_DELAY still says
// otherwise.
[[maybe_unused]] const bool keeps_freed_memory = [] {
  constexpr long kMilliseconds = 1000;
#if MI_MALLOC_VERSION < 210
  mi_option_set_default(mi_option_decommit_delay, kMilliseconds);
#else
  mi_option_set_default(mi_option_purge_delay, kMilliseconds);
#endif
  return true;
}();

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
