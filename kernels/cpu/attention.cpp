// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole causal attention on the CPU: grouped-query heads, and multi-head latent attention.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/flash.hpp"

namespace pleat {

// Causal grouped-query attention on packed rows [q heads | k groups | v groups]; query head i uses
// group i / (heads / groups), whose gradient adds over its heads in ascending order.

namespace {

void check(View qkv, View o, View lse, const AttentionShape& s) {
  PLEAT_ASSERT(s.kv_groups > 0 && s.heads % s.kv_groups == 0);
  PLEAT_ASSERT(qkv.rows == s.batch * s.seq && o.rows == qkv.rows);
  PLEAT_ASSERT(qkv.cols == s.columns());
  PLEAT_ASSERT(o.cols == s.heads * s.value_dim() && lse.elements() == qkv.rows * s.heads);
}

// First columns of the q, k and v that head `h` of a packed row uses.
struct Columns {
  std::int64_t q, k, v;
  Columns(const AttentionShape& s, std::int64_t h) {
    const std::int64_t group = h / (s.heads / s.kv_groups);
    q = h * s.head_dim;
    k = (s.heads + group) * s.head_dim;
    v = (s.heads + s.kv_groups) * s.head_dim + group * s.value_dim();
  }
};

cpu::FlashHead head(View qkv, View lse, const AttentionShape& s, std::int64_t sequence,
                    std::int64_t h) {
  const Columns at(s, h);
  const float* row = qkv.f32() + sequence * s.seq * qkv.cols;
  cpu::FlashHead out;
  out.seq = s.seq;
  out.scale = static_cast<float>(s.scale);
  out.q[0] = {row + at.q, qkv.cols, s.head_dim};
  out.k[0] = {row + at.k, qkv.cols, s.head_dim};
  out.v = {row + at.v, qkv.cols, s.value_dim()};
  out.lse = lse.f32() + sequence * s.seq * s.heads + h;
  out.lse_stride = s.heads;
  return out;
}

}  // namespace

void CpuKernels::attention(View qkv, View o, View lse, const AttentionShape& s) {
  check(qkv, o, lse, s);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    float* out = o.f32() + b * s.seq * o.cols;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      cpu::flash_forward(head(qkv, lse, s, b, h), {out + h * s.value_dim(), o.cols, s.value_dim()});
    }
  }
}

void CpuKernels::attention_bwd(View d_o, View qkv, View o, View lse, View dqkv,
                               const AttentionShape& s) {
  check(qkv, o, lse, s);
  PLEAT_ASSERT(d_o.rows == o.rows && d_o.cols == o.cols);
  PLEAT_ASSERT(dqkv.rows == qkv.rows && dqkv.cols == qkv.cols);
  zero(dqkv);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t out = b * s.seq * o.cols;
    float* row = dqkv.f32() + b * s.seq * dqkv.cols;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Columns at(s, h);
      cpu::FlashHead flash = head(qkv, lse, s, b, h);
      flash.o = {o.f32() + out + h * s.value_dim(), o.cols, s.value_dim()};
      flash.d_o = {d_o.f32() + out + h * s.value_dim(), o.cols, s.value_dim()};
      cpu::FlashGradient gradient;
      gradient.dq[0] = {row + at.q, dqkv.cols, s.head_dim};
      gradient.dk[0] = {row + at.k, dqkv.cols, s.head_dim};
      gradient.dv = {row + at.v, dqkv.cols, s.value_dim()};
      cpu::flash_backward(flash, gradient);
    }
  }
}

// Causal multi-head latent attention after the up-projections. A head's q is [nope | rope] and its
// kv is [nope | v]; the rotary part of k, the last columns of kpe, is shared by all heads.

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
