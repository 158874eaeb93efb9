// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal multi-head latent attention after the up-projections. A head's q is [nope | rope] and its
// kv is [nope | v]; the rotary part of k, the last columns of kpe, is shared by all heads.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/flash.hpp"

namespace pleat {
namespace {

void check(View q, View kv, View kpe, View o, View lse, const MlaShape& s) {
  const std::int64_t rows = s.batch * s.seq;
  PLEAT_ASSERT(s.nope > 0 && s.rope >= 0);
  PLEAT_ASSERT(q.rows == rows && kv.rows == rows && kpe.rows == rows && o.rows == rows);
  PLEAT_ASSERT(q.cols == s.heads * (s.nope + s.rope) && kv.cols == s.heads * (s.nope + s.v));
  PLEAT_ASSERT(kpe.cols == s.kv_lora + s.rope && o.cols == s.heads * s.v);
  PLEAT_ASSERT(lse.elements() == rows * s.heads);
}

// First element of each part for head `h` of a sequence; the same for values and gradients.
struct Offsets {
  std::int64_t q, q_rope, k, v, k_rope, o, lse;
  Offsets(const MlaShape& s, std::int64_t sequence, std::int64_t h) {
    const std::int64_t row = sequence * s.seq;
    q = (row * s.heads + h) * (s.nope + s.rope);
    q_rope = q + s.nope;
    k = (row * s.heads + h) * (s.nope + s.v);
    v = k + s.nope;
    k_rope = row * (s.kv_lora + s.rope) + s.kv_lora;
    o = (row * s.heads + h) * s.v;
    lse = row * s.heads + h;
  }
};

cpu::FlashHead head(View q, View kv, View kpe, View lse, const MlaShape& s, const Offsets& at) {
  cpu::FlashHead out;
  out.seq = s.seq;
  out.scale = static_cast<float>(s.scale);
  out.q = {{{q.f32() + at.q, q.cols, s.nope}, {q.f32() + at.q_rope, q.cols, s.rope}}};
  out.k = {{{kv.f32() + at.k, kv.cols, s.nope}, {kpe.f32() + at.k_rope, kpe.cols, s.rope}}};
  out.v = {kv.f32() + at.v, kv.cols, s.v};
  out.lse = lse.f32() + at.lse;
  out.lse_stride = s.heads;
  return out;
}

}  // namespace

void CpuKernels::mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape& s) {
  check(q, kv, kpe, o, lse, s);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Offsets at(s, b, h);
      cpu::flash_forward(head(q, kv, kpe, lse, s, at), {o.f32() + at.o, o.cols, s.v});
    }
  }
}

void CpuKernels::mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq,
                                   View dkv, View dkpe, const MlaShape& s) {
  check(q, kv, kpe, o, lse, s);
  check(dq, dkv, dkpe, d_o, lse, s);
  zero(dq);
  zero(dkv);
  for (std::int64_t r = 0; r < dkpe.rows; ++r) {
    std::fill_n(dkpe.f32() + r * dkpe.cols + s.kv_lora, s.rope, 0.0F);
  }
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Offsets at(s, b, h);
      cpu::FlashHead flash = head(q, kv, kpe, lse, s, at);
      flash.o = {o.f32() + at.o, o.cols, s.v};
      flash.d_o = {d_o.f32() + at.o, o.cols, s.v};
      cpu::FlashGradient gradient;
      gradient.dq = {{{dq.f32() + at.q, dq.cols, s.nope}, {dq.f32() + at.q_rope, dq.cols, s.rope}}};
      gradient.dk = {
          {{dkv.f32() + at.k, dkv.cols, s.nope}, {dkpe.f32() + at.k_rope, dkpe.cols, s.rope}}};
      gradient.dv = {dkv.f32() + at.v, dkv.cols, s.v};
      cpu::flash_backward(flash, gradient);
    }
  }
}

}  // namespace pleat
