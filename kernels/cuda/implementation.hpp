// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which implementation computed a product or an attention, which libraries this process has, and
// what they refused. A slower kernel may take a library's place, but it is reported.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pleat::cuda {

enum class Implementation : std::uint8_t {
  own,               // any types, no tensor cores
  own_tensor_cores,  // bf16
  cublaslt,
  cublaslt_codes,   // operands of 8 or 4 bits
  cublaslt_groups,  // its grouped product
  cutlass,
  cutlass_codes,
  cudnn,
  cudnn_codes,
};
[[nodiscard]] const char* name_of(Implementation);

// What computed this thread's last product or attention. (A kernel set belongs to one thread.)
[[nodiscard]] Implementation taken_by();
void note_taken_by(Implementation);

// "cudnn", "cublaslt": the version that is loaded, or why there is none; "cublaslt_groups": "yes"
// or why not; "cutlass": "yes" or "not built in". Loads the libraries; needs no GPU, and never
// throws.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_facts();
// The same in one line: "cuDNN: 9.13.0; cuBLASLt: 13.1.0, its grouped product: 13.7.0 is needed;
// CUTLASS: yes".
[[nodiscard]] std::string library_line();

// Prints "WHAT: WHY" on stderr, once for each text in the life of the process.
void note_refusal(const std::string& what, const std::string& why);

// Whether CUTLASS's kernels were compiled (grouped_gemm.cpp).
[[nodiscard]] bool has_cutlass();

}  // namespace pleat::cuda
