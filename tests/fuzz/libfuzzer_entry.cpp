// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What libFuzzer calls. An exception that leaves it ends the process, and is a finding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/json_mutator.hpp"

extern "C" {

// Stacks of allocations, and memory that is freed but kept, cost a fifth of the time. A report
// shows one frame of each; ASAN_OPTIONS=malloc_context_size=30 shows more of the input that was
// found.
const char* __asan_default_options() {
  return "malloc_context_size=1:quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)pleat::fuzz::run_checked({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Most changes are made to the tree. The rest are made to the bytes, so that what reads them is
// tried too.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  using pleat::fuzz::Form;
  if (pleat::fuzz::kForm == Form::bytes || seed % 16 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const std::string mutated =
      pleat::fuzz::mutate({reinterpret_cast<const char*>(data), size}, pleat::fuzz::kForm, seed);
  if (mutated.empty() || mutated.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(mutated.begin(), mutated.end(), data);
  return mutated.size();
}

}  // extern "C"
