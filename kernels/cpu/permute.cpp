// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies of token rows in expert order, and back: row_map[t*k+j] is the row of copy j of token t.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kExpertsAtATime = 1024;  // running offsets held on the stack

std::int64_t copies_per_token(View row_map, std::int64_t tokens) {
  if (tokens == 0) return 0;
  PLEAT_ASSERT(row_map.elements() % tokens == 0);
  return row_map.elements() / tokens;
}

}  // namespace

void CpuKernels::permute(View x, View probs, View experts, View counts, View px, View pp,
                         View row_map) {
  const std::int64_t copies = experts.elements(), h = x.cols, groups = counts.elements();
  const std::int64_t k = copies_per_token(row_map, x.rows);
  PLEAT_ASSERT(probs.elements() == copies && px.rows == copies && px.cols == h);
  PLEAT_ASSERT(pp.elements() == copies && row_map.elements() == copies);
  std::int64_t next[kExpertsAtATime];
  std::int64_t row = 0;
  for (std::int64_t first = 0; first < groups; first += kExpertsAtATime) {
    const std::int64_t some = std::min(kExpertsAtATime, groups - first);
    for (std::int64_t e = 0; e < some; ++e) {
      next[e] = row;
      row += counts.i32()[first + e];
    }
    for (std::int64_t i = 0; i < copies; ++i) {
      const std::int64_t e = experts.i32()[i] - first;
      if (e < 0 || e >= some) continue;
      const std::int64_t to = next[e]++;
      PLEAT_ASSERT(to < copies);
      row_map.i32()[i] = static_cast<std::int32_t>(to);
      pp.f32()[to] = probs.f32()[i];
      std::copy_n(x.f32() + (i / k) * h, h, px.f32() + to * h);
    }
  }
  PLEAT_ASSERT(row == copies);
}

void CpuKernels::permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                             bool accumulate) {
  const std::int64_t h = dx.cols, k = copies_per_token(row_map, dx.rows);
  PLEAT_ASSERT(dpx.rows == row_map.elements() && dpx.cols == h);
  PLEAT_ASSERT(dpp.elements() == row_map.elements() && dprobs.elements() == row_map.elements());
  if (accumulate) {
    for (std::int64_t t = 0; t < dx.rows; ++t) {
      float* to = dx.f32() + t * h;
      for (std::int64_t j = 0; j < k; ++j) {
        const float* from = dpx.f32() + row_map.i32()[t * k + j] * h;
        for (std::int64_t c = 0; c < h; ++c) to[c] += from[c];
      }
    }
  } else {
    unpermute(dpx, row_map, dx);
  }
  for (std::int64_t i = 0; i < row_map.elements(); ++i) {
    dprobs.f32()[i] = dpp.f32()[row_map.i32()[i]];
  }
}

void CpuKernels::unpermute(View px, View row_map, View y) {
  const std::int64_t h = y.cols, k = copies_per_token(row_map, y.rows);
  PLEAT_ASSERT(px.rows == row_map.elements() && px.cols == h);
  for (std::int64_t t = 0; t < y.rows; ++t) {
    float* to = y.f32() + t * h;
    std::fill_n(to, h, 0.0F);
    for (std::int64_t j = 0; j < k; ++j) {
      const float* from = px.f32() + row_map.i32()[t * k + j] * h;
      for (std::int64_t c = 0; c < h; ++c) to[c] += from[c];
    }
  }
}

void CpuKernels::unpermute_bwd(View dy, View row_map, View dpx) {
  const std::int64_t h = dy.cols, k = copies_per_token(row_map, dy.rows);
  PLEAT_ASSERT(dpx.rows == row_map.elements() && dpx.cols == h);
  for (std::int64_t i = 0; i < row_map.elements(); ++i) {
    std::copy_n(dy.f32() + (i / k) * h, h, dpx.f32() + row_map.i32()[i] * h);
  }
}

}  // namespace pleat
