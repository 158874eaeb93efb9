// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a CUDA block on the CPU: every thread is a fiber, and a barrier lets the next one run.
// Blocks run one after the other, so shared memory is static. Barriers that not all threads reach,
// and warp-wide operations without all lanes, abort with the kernel's place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace emulation {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

enum class Barrier { block, warp };

// Calls `body` for every thread of every block. `shared`: bytes of dynamic shared memory.
void run(Index grid, unsigned threads, std::size_t shared, const std::function<void()>& body);

// Threads run in ascending order between barriers, or in descending: what differs is a race.
void set_descending(bool descending);

void wait(Barrier barrier);
[[nodiscard]] void* dynamic_shared();
[[nodiscard]] unsigned lane();
[[nodiscard]] std::uint64_t* warp_slots();  // 32 of this warp, for values that lanes exchange

}  // namespace emulation

extern emulation::Index threadIdx, blockIdx, blockDim, gridDim;
