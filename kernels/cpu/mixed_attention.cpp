// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention on bf16 tensors on the CPU, and attention whose products read 8 bits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/mixed_kernels.hpp"

namespace pleat::cpu {
namespace {

constexpr std::int64_t kBlock = 32;  // columns that share a scale of MXFP8

// As quantize.cpp's rules: the largest element becomes the largest code, or the scale is a power of
// two.
void round_block(float* x, std::int64_t rows, std::int64_t stride, std::int64_t cols,
                 SmallFloat type, bool power_of_two) {
  float amax = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const float size = std::fabs(x[r * stride + c]);
      amax = size > amax ? size : amax;
    }
  }
  float up = 1, down = 1;
  if (power_of_two) {
    const std::uint8_t code = encode_e8m0(amax * (1 / largest(type)));
    up = std::ldexp(1.0F, 127 - code);
    down = decode_e8m0(code);
  } else if (amax > 0 && std::isfinite(amax)) {
    up = std::min(largest(type) / amax, std::numeric_limits<float>::max());
    down = 1 / up;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      float& value = x[r * stride + c];
      value = decode(type, encode(type, value * up)) * down;
    }
  }
}

}  // namespace

// Rounds each head's columns of `c.x`, fp32, in place. `math` fp8: one scale for a head in each of
// the `batch` runs of rows, E4M3, gradients E5M2. mxfp8: E4M3 with a scale for 32 columns of a row.
void round_heads(const HeadColumns& c, std::int64_t batch, std::int64_t heads, DType math,
                 bool gradient) {
  if (c.width == 0) return;
  PLEAT_ASSERT(c.x.dtype == DType::fp32 && c.x.rows % batch == 0);
  const bool blocks = math == DType::mxfp8;
  const SmallFloat type = gradient && !blocks ? SmallFloat::e5m2 : SmallFloat::e4m3;
  const std::int64_t rows = c.x.rows / batch;
  const std::int64_t groups =
      c.stride == 0 ? 1 : heads / c.share;  // columns that several heads read
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t g = 0; g < groups; ++g) {
      float* x = c.x.f32() + b * rows * c.x.cols + c.first + g * c.stride;
      if (!blocks) {
        round_block(x, rows, c.x.cols, c.width, type, false);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t col = 0; col < c.width; col += kBlock) {
          round_block(x + r * c.x.cols + col, 1, 0, std::min(kBlock, c.width - col), type, true);
        }
      }
    }
  }
}

}  // namespace pleat::cpu

namespace pleat {

// Attention, its rotation and its sinks on bf16 tensors.

using Operands = cpu::MixedOperands;

namespace {

AttentionPiece widened(Operands& o, AttentionPiece p) {
  PLEAT_ASSERT(!is_quantized(p.math) || p.q[0].x.dtype == DType::bf16);
  for (std::size_t i = 0; i < 2; ++i) {
    p.q[i] = o.in(p.q[i]);
    p.k[i] = o.in(p.k[i]);
  }
  p.v = o.in(p.v);
  if (!is_quantized(p.math)) return p;
  for (const HeadColumns& c : {p.q[0], p.q[1], p.k[0], p.k[1], p.v}) {  // the copies made here
    cpu::round_heads(c, p.batch, p.heads, p.math, false);
  }
  return p;
}

AttentionPieceGradient widened(Operands& o, AttentionPieceGradient g) {
  for (std::size_t i = 0; i < 2; ++i) {
    g.dq[i] = o.inout(g.dq[i]);
    g.dk[i] = o.inout(g.dk[i]);
  }
  g.dv = o.inout(g.dv);
  return g;
}

}  // namespace

void MixedKernels::start_at_sinks(View sinks, View out, View lse) {
  Operands o(scratch_);
  CpuKernels::start_at_sinks(o.in(sinks), o.out(out), lse);
}

void MixedKernels::sinks_bwd(View d_o, View out, View lse, View sinks, View dsinks) {
  Operands o(scratch_);
  CpuKernels::sinks_bwd(o.in(d_o), o.in(out), lse, o.in(sinks), o.inout(dsinks));
}

void MixedKernels::rope(View x, const RopeShape& s, bool inverse) {
  Operands o(scratch_);
  CpuKernels::rope(o.inout(x), s, inverse);
}

void MixedKernels::attention(View qkv, View out, View lse, const AttentionShape& s) {
  Operands o(scratch_);
  CpuKernels::attention(o.in(qkv), o.out(out), lse, s);
}

void MixedKernels::attention_bwd(View d_o, View qkv, View out, View lse, View dqkv,
                                 const AttentionShape& s) {
  Operands o(scratch_);
  CpuKernels::attention_bwd(o.in(d_o), o.in(qkv), o.in(out), lse, o.out(dqkv), s);
}

void MixedKernels::mla_attention(View q, View kv, View kpe, View out, View lse, const MlaShape& s) {
  Operands o(scratch_);
  CpuKernels::mla_attention(o.in(q), o.in(kv), o.in(kpe), o.out(out), lse, s);
}

void MixedKernels::mla_attention_bwd(View d_o, View q, View kv, View kpe, View out, View lse,
                                     View dq, View dkv, View dkpe, const MlaShape& s) {
  Operands o(scratch_);  // dkpe keeps its other columns
  CpuKernels::mla_attention_bwd(o.in(d_o), o.in(q), o.in(kv), o.in(kpe), o.in(out), lse, o.out(dq),
                                o.out(dkv), o.inout(dkpe), s);
}

void MixedKernels::attention_piece(const AttentionPiece& p, HeadColumns out, View lse,
                                   bool resume) {
  Operands o(scratch_);
  CpuKernels::attention_piece(widened(o, p), o.inout(out), lse, resume);
}

void MixedKernels::attention_piece_bwd(const AttentionPiece& p, HeadColumns d_o, HeadColumns out,
                                       View lse, const AttentionPieceGradient& g) {
  Operands o(scratch_);
  const HeadColumns from = o.in(d_o);
  if (is_quantized(p.math)) cpu::round_heads(from, p.batch, p.heads, p.math, true);
  CpuKernels::attention_piece_bwd(widened(o, p), from, o.in(out), lse, widened(o, g));
}

}  // namespace pleat
