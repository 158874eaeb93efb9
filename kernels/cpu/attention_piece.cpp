// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention on the CPU in pieces, each over a part of the keys. An attention sink is a piece too.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/flash.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// Attention over a piece of the keys, and the column copies that put such pieces together: what
// context parallelism, windows and packed documents need.

namespace {

// The columns of head h in the b-th of `batch` runs of rows.
cpu::Rows<float> rows_of(const HeadColumns& c, std::int64_t batch, std::int64_t b, std::int64_t h) {
  if (c.width == 0) return {};
  const std::int64_t column = c.first + h / c.share * c.stride;
  PLEAT_ASSERT(c.x.rows % batch == 0 && column + c.width <= c.x.cols);
  return {c.x.f32() + b * (c.x.rows / batch) * c.x.cols + column, c.x.cols, c.width};
}

cpu::Rows<const float> read(const HeadColumns& c, std::int64_t batch, std::int64_t b,
                            std::int64_t h) {
  const cpu::Rows<float> rows = rows_of(c, batch, b, h);
  return {rows.data, rows.stride, rows.cols};
}

cpu::FlashHead head(const AttentionPiece& p, View lse, std::int64_t b, std::int64_t h) {
  cpu::FlashHead out;
  out.seq = p.q[0].x.rows / p.batch;
  out.scale = static_cast<float>(p.scale);
  for (std::size_t part = 0; part < 2; ++part) {
    out.q[part] = read(p.q[part], p.batch, b, h);
    out.k[part] = read(p.k[part], p.batch, b, h);
    PLEAT_ASSERT(out.q[part].cols == out.k[part].cols);
  }
  out.v = read(p.v, p.batch, b, h);
  out.lse = lse.f32() + b * out.seq * p.heads + h;
  out.lse_stride = p.heads;
  out.visible = p.visible + b * out.seq;
  return out;
}

void check(const AttentionPiece& p, const HeadColumns& o, View lse) {
  PLEAT_ASSERT(p.batch > 0 && p.visible != nullptr);
  PLEAT_ASSERT(o.x.rows == p.q[0].x.rows && lse.elements() == o.x.rows * p.heads);
}

}  // namespace

void CpuKernels::attention_piece(const AttentionPiece& p, HeadColumns o, View lse, bool resume) {
  check(p, o, lse);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      cpu::FlashHead flash = head(p, lse, b, h);
      flash.resume = resume;
      cpu::flash_forward(flash, rows_of(o, p.batch, b, h));
    }
  }
}

void CpuKernels::attention_piece_bwd(const AttentionPiece& p, HeadColumns d_o, HeadColumns o,
                                     View lse, const AttentionPieceGradient& g) {
  check(p, o, lse);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      cpu::FlashHead flash = head(p, lse, b, h);
      flash.o = read(o, p.batch, b, h);
      flash.d_o = read(d_o, p.batch, b, h);
      cpu::FlashGradient gradient;
      for (std::size_t part = 0; part < 2; ++part) {
        gradient.dq[part] = rows_of(g.dq[part], p.batch, b, h);
        gradient.dk[part] = rows_of(g.dk[part], p.batch, b, h);
      }
      gradient.dv = rows_of(g.dv, p.batch, b, h);
      cpu::flash_backward(flash, gradient);
    }
  }
}

void CpuKernels::copy_columns(View from, View to, const ColumnBlocks& c) {
  PLEAT_ASSERT(from.rows == to.rows && from.dtype == to.dtype);
  for (std::int64_t r = 0; r < from.rows; ++r) {
    for (std::int64_t i = 0; i < c.blocks; ++i) {
      const std::int64_t at_from = r * from.cols + c.from_first + i * c.from_stride;
      const std::int64_t at_to = r * to.cols + c.to_first + i * c.to_stride;
      if (!c.add) {
        std::copy(from.at(at_from), from.at(at_from + c.width), to.at(at_to));
        continue;
      }
      const float* x = from.f32() + at_from;
      float* y = to.f32() + at_to;
      for (std::int64_t j = 0; j < c.width; ++j) y[j] += x[j];
    }
  }
}

// Attention sinks (gpt-oss): each head has one more key, with a learned score and no value, so a
// query may look at nothing. Its probability exp(sink - lse) takes part in the softmax only; its
// gradient is p (0 - do·o) like any key's.

void CpuKernels::start_at_sinks(View sinks, View o, View lse) {
  const std::int64_t heads = sinks.elements();
  PLEAT_ASSERT(heads > 0 && lse.elements() == o.rows * heads);
  zero(o);
  for (std::int64_t i = 0; i < lse.elements(); ++i) lse.f32()[i] = sinks.f32()[i % heads];
}

void CpuKernels::sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) {
  const std::int64_t heads = sinks.elements(), width = o.cols / heads;
  PLEAT_ASSERT(dsinks.elements() == heads && lse.elements() == o.rows * heads);
  PLEAT_ASSERT(d_o.rows == o.rows && d_o.cols == o.cols && o.cols % heads == 0);
  for (std::int64_t r = 0; r < o.rows; ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t at = r * o.cols + h * width;
      const float p = cpu::exp_f32(sinks.f32()[h] - lse.f32()[r * heads + h]);
      dsinks.f32()[h] -= p * cpu::dot(d_o.f32() + at, o.f32() + at, width);
    }
  }
}

}  // namespace pleat
