// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

emulation::Index threadIdx, blockIdx, blockDim, gridDim;

// Saves the callee's registers and the stack pointer, and goes on on another stack (x86-64 System
// V).
extern "C" void emulation_switch(void** save, void* load);
asm(R"(
.text
.globl emulation_switch
.type emulation_switch, @function
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulation_switch, .-emulation_switch
.section .note.GNU-stack,"",@progbits
.text
)");

namespace emulation {
namespace {

constexpr std::size_t kStack = 256 * 1024;
constexpr unsigned kWarp = 32;

enum class State { ready, at_block, at_warp, done };

struct Fiber {
  std::unique_ptr<std::byte[]> stack;
  void* sp = nullptr;
  State state = State::done;
};

std::vector<Fiber> fibers;
void* scheduler_sp = nullptr;
unsigned current = 0, live_threads = 0;
bool descending_order = false;
const std::function<void()>* body_of_kernel = nullptr;
std::vector<std::uint64_t> slots;
std::vector<std::max_align_t> shared_memory;

void leave(State state) {
  fibers[current].state = state;
  emulation_switch(&fibers[current].sp, scheduler_sp);
}

void enter() {
  (*body_of_kernel)();
  leave(State::done);
  std::abort();
}

void start(Fiber& f) {
  if (f.stack == nullptr) f.stack.reset(new std::byte[kStack]);
  auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + kStack) & ~std::uintptr_t{15};
  auto* sp = reinterpret_cast<void**>(top) - 1;  // a called function's stack is 8 beyond 16
  *sp = nullptr;
  *--sp = reinterpret_cast<void*>(&enter);
  for (int i = 0; i < 6; ++i) *--sp = nullptr;
  f.sp = sp;
  f.state = State::ready;
}

void resume(unsigned thread) {
  current = thread;
  threadIdx.x = thread;
  emulation_switch(&scheduler_sp, fibers[thread].sp);
}

bool release(unsigned first, unsigned last, State waiting) {
  bool some = false;
  for (unsigned t = first; t < last; ++t) {
    if (fibers[t].state == State::done) continue;
    if (fibers[t].state != waiting) return false;
    some = true;
  }
  for (unsigned t = first; some && t < last; ++t) {
    if (fibers[t].state == waiting) fibers[t].state = State::ready;
  }
  return some;
}

void run_block(unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) start(fibers[t]);
  while (true) {
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned t = descending_order ? threads - 1 - i : i;
      if (fibers[t].state == State::ready) resume(t);
    }
    bool go_on = false, all_done = true;
    for (unsigned t = 0; t < threads; ++t) all_done &= fibers[t].state == State::done;
    if (all_done) return;
    for (unsigned w = 0; w < threads; w += kWarp) {
      go_on |= release(w, std::min(w + kWarp, threads), State::at_warp);
    }
    if (!go_on) go_on = release(0, threads, State::at_block);
    if (!go_on) {
      std::fprintf(stderr, "threads of block %u,%u,%u wait at different barriers\n", blockIdx.x,
                   blockIdx.y, blockIdx.z);
      std::abort();
    }
  }
}

}  // namespace

void run(Index grid, unsigned threads, std::size_t shared, const std::function<void()>& body) {
  static std::mutex one_at_a_time;  // of several threads' devices
  const std::lock_guard lock(one_at_a_time);
  if (fibers.size() < threads) fibers.resize(threads);
  slots.assign((threads + kWarp - 1) / kWarp * kWarp, 0);
  shared_memory.assign(shared / sizeof(std::max_align_t) + 16, {});
  std::memset(shared_memory.data(), 0xff, shared_memory.size() * sizeof(std::max_align_t));  // NaN
  body_of_kernel = &body;
  live_threads = threads;
  blockDim = {threads, 1, 1};
  gridDim = grid;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) run_block(threads);
    }
  }
}

void set_descending(bool descending) { descending_order = descending; }

void wait(Barrier barrier) {
  leave(barrier == Barrier::block ? State::at_block : State::at_warp);
}

void* dynamic_shared() {
  auto at = reinterpret_cast<std::uintptr_t>(shared_memory.data());
  return reinterpret_cast<void*>((at + 127) & ~std::uintptr_t{127});
}

unsigned lane() { return current % kWarp; }

std::uint64_t* warp_slots() { return slots.data() + current / kWarp * kWarp; }

}  // namespace emulation
