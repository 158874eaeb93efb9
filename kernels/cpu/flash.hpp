// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of one head in one sequence, causal or to given ranges of keys, in blocks of rows and
// columns with a running softmax (FlashAttention-2, arXiv:2307.08691), so that no [seq, seq] matrix
// exists.
#pragma once

#include <array>
#include <cstdint>

namespace pleat::cpu {

// seq rows of `cols` contiguous values, `stride` apart.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0, cols = 0;
};

// Scores are scale * sum over parts of q·k: one part for GQA, two for MLA (no-position, rotary).
struct FlashHead {
  std::int64_t seq = 0;
  float scale = 1;
  std::array<Rows<const float>, 2> q, k;  // an absent second part has no columns
  Rows<const float> v;
  Rows<const float> o;    // backward only
  Rows<const float> d_o;  // backward only
  float* lse = nullptr;   // log of the row's sum of exp(score); lse_stride apart
  std::int64_t lse_stride = 1;
  const std::int32_t (*visible)[2] = nullptr;  // keys [first, last) of a query; none: [0, query]
  bool resume = false;                         // forward: o and lse hold what earlier keys gave
};

struct FlashGradient {
  std::array<Rows<float>, 2> dq, dk;
  Rows<float> dv;
};

void flash_forward(const FlashHead&, Rows<float> o);   // writes o and lse
void flash_backward(const FlashHead&, FlashGradient);  // adds to the gradients

}  // namespace pleat::cpu
