// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// wmma of 16x16x16 tiles: element e of a tile is value e / 32 of lane e % 32.
#pragma once

#include "tests/kernels/emulation/include/cuda_bf16.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major };

template <class Use, int, int, int, class T, class Layout = void>
struct fragment {
  float x[8];
};
template <class F>
void fill_fragment(F& f, float v) {
  for (float& x : f.x) x = v;
}
template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* from, unsigned ld) {
  if (reinterpret_cast<std::uintptr_t>(from) % 32 != 0 || ld % 8 != 0) std::abort();
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned e = i * 32 + emulation::lane(), r = e / 16, c = e % 16;
    constexpr bool kRows = std::is_same_v<Layout, row_major>;
    f.x[i] = static_cast<float>(from[kRows ? r * ld + c : c * ld + r]);
  }
}
template <class A, class B, class C>
void mma_sync(C& d, const A& a, const B& b, const C& c) {
  float all_a[256], all_b[256];
  for (unsigned i = 0; i < 8; ++i) {
    emulated_exchange(a.x[i], [&](auto at) {
      for (unsigned l = 0; l < 32; ++l) all_a[i * 32 + l] = at(l);
      return 0;
    });
    emulated_exchange(b.x[i], [&](auto at) {
      for (unsigned l = 0; l < 32; ++l) all_b[i * 32 + l] = at(l);
      return 0;
    });
  }
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned e = i * 32 + emulation::lane();
    float sum = c.x[i];
    for (unsigned k = 0; k < 16; ++k) sum += all_a[e / 16 * 16 + k] * all_b[k * 16 + e % 16];
    d.x[i] = sum;
  }
}
template <class F>
void store_matrix_sync(float* to, const F& f, unsigned ld, layout_t) {
  if (reinterpret_cast<std::uintptr_t>(to) % 32 != 0 || ld % 4 != 0) std::abort();
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned e = i * 32 + emulation::lane();
    to[e / 16 * ld + e % 16] = f.x[i];
  }
}

}  // namespace nvcuda::wmma
