// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What may be chosen of the CUDA kernels.
#pragma once

#include <cstddef>

namespace pleat {

struct CudaOptions {
  // Memory for the time of a call, allocated at once; it grows if a call needs more.
  std::size_t scratch_bytes = std::size_t{64} << 20U;
  // Time cuBLASLt's candidates for each shape when it first comes; off: its first choice, so that
  // two processes surely compute the same bits.
  bool tune_gemms = true;
  // Grouped products in bf16 by cuBLASLt from 13.7 on; off: CUTLASS's.
  bool library_groups = true;
  // cuDNN's attention backward gives the same bits every time; off: faster, in any order of sums.
  bool deterministic_attention = true;
  // Attention in fp8 goes to cuDNN in codes where it takes them: faster, with one scale an operand
  // and with probabilities and o in E4M3 too. Off: bf16's, of what codes of the reference stand
  // for.
  bool attention_of_codes = true;
};

}  // namespace pleat
