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

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)pleat::fuzz::run_checked({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Most changes are made to the tree. The rest are made to the bytes, so that what reads them is tried too.
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
