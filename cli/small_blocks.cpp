// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// operator new and delete of the program: small blocks that are freed stay with their thread. A search
// builds and drops thousands of programs of layers, and glibc keeps 7 blocks of a size at hand.
#include <cstddef>
#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr std::size_t kStep = 16, kLargest = 512;  // bytes
constexpr std::size_t kSizes = kLargest / kStep + 1;
constexpr unsigned kMost = 2048;  // blocks of a size; of all sizes 16 MB

struct Block {
  Block* next;
};

// No constructor or destructor: it must work before and after those of others.
struct Kept {
  Block* first[kSizes];
  unsigned count[kSizes];
};
thread_local constinit Kept kept{};

// Gives back what a thread has kept when it ends.
struct AtEnd {
  bool armed = false;
  ~AtEnd() {
    for (std::size_t i = 0; i < kSizes; ++i) {
      while (Block* block = kept.first[i]) {
        kept.first[i] = block->next;
        std::free(block);
      }
      kept.count[i] = kMost;  // nothing is kept any more
    }
  }
};
thread_local AtEnd at_end;

std::size_t size_class(std::size_t bytes) { return (bytes + kStep - 1) / kStep; }

void* allocate(std::size_t bytes) noexcept {
  if (bytes > kLargest || bytes == 0) return std::malloc(bytes == 0 ? 1 : bytes);
  const std::size_t i = size_class(bytes);
  if (Block* block = kept.first[i]) {
    kept.first[i] = block->next;
    --kept.count[i];
    return block;
  }
  return std::malloc(i * kStep);
}

void release(void* p, std::size_t bytes) noexcept {
  const std::size_t i = size_class(bytes);
  if (p == nullptr || bytes > kLargest || bytes == 0 || kept.count[i] >= kMost) {
    std::free(p);
    return;
  }
  at_end.armed = true;
  auto* block = static_cast<Block*>(p);
  block->next = kept.first[i];
  kept.first[i] = block;
  ++kept.count[i];
}

}  // namespace

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* p = allocate(bytes)) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t bytes) noexcept { release(p, bytes); }
void operator delete[](void* p, std::size_t bytes) noexcept { release(p, bytes); }

#endif
