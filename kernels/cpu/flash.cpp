// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 queries by 64 keys: both score blocks of the backward pass (16 KiB) stay in L1.
#include "kernels/cpu/flash.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/vector_math.hpp"

namespace pleat::cpu {
namespace {

constexpr std::int64_t kQueries = 32, kKeys = 64;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<Eigen::Dynamic>;
using Input = Eigen::Map<const Matrix, 0, Stride>;
using Output = Eigen::Map<Matrix, 0, Stride>;

Input rows_of(Rows<const float> m, std::int64_t first, std::int64_t count) {
  return {m.data + first * m.stride, count, m.cols, Stride(m.stride)};
}
Output rows_of(Rows<float> m, std::int64_t first, std::int64_t count) {
  return {m.data + first * m.stride, count, m.cols, Stride(m.stride)};
}

// Queries [q, q+nq) against keys [k, k+nk).
struct Block {
  std::int64_t q, nq, k, nk;
  // Keys of this block that query q+i may see.
  [[nodiscard]] std::int64_t visible(std::int64_t i) const {
    return std::clamp<std::int64_t>(q + i - k + 1, 0, nk);
  }
};

// Calls visit for the blocks of queries [q, q+nq), keys ascending up to the diagonal.
template <class Visit>
void for_each_key_block(std::int64_t q, std::int64_t nq, Visit visit) {
  for (std::int64_t k = 0; k < q + nq; k += kKeys) {
    visit(Block{.q = q, .nq = nq, .k = k, .nk = std::min(kKeys, q + nq - k)});
  }
}

void scores(const FlashHead& h, const Block& b, float* out) {
  Output s(out, b.nq, b.nk, Stride(kKeys));
  s.noalias() = rows_of(h.q[0], b.q, b.nq) * rows_of(h.k[0], b.k, b.nk).transpose();
  if (h.q[1].cols > 0) {
    s.noalias() += rows_of(h.q[1], b.q, b.nq) * rows_of(h.k[1], b.k, b.nk).transpose();
  }
}

// Scores of one row to exp(scale * score - max) in place, hidden ones to 0; returns their sum.
float exponentials(float* s, std::int64_t visible, std::int64_t n, float scale, float max) {
  for (std::int64_t j = 0; j < visible; ++j) s[j] = exp_f32(s[j] * scale - max);
  std::fill(s + visible, s + n, 0.0F);
  return lane_sum<float>(visible, [=](std::int64_t j) { return s[j]; });
}

}  // namespace

void flash_forward(const FlashHead& h, Rows<float> o) {
  alignas(64) float p[kQueries * kKeys];
  float max[kQueries], sum[kQueries];
  for (std::int64_t q = 0; q < h.seq; q += kQueries) {
    const std::int64_t nq = std::min(kQueries, h.seq - q);
    Output out = rows_of(o, q, nq);
    std::fill_n(max, nq, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, nq, 0.0F);
    out.setZero();
    for_each_key_block(q, nq, [&](const Block& b) {
      scores(h, b, p);
      for (std::int64_t i = 0; i < nq; ++i) {
        float* row = p + i * kKeys;
        const std::int64_t visible = b.visible(i);
        const float top = std::max(max[i], row_max(row, visible) * h.scale);
        const float keep = b.k == 0 ? 0.0F : exp_f32(max[i] - top);
        sum[i] = sum[i] * keep + exponentials(row, visible, b.nk, h.scale, top);
        max[i] = top;
        float* acc = o.data + (q + i) * o.stride;
        for (std::int64_t c = 0; b.k > 0 && c < o.cols; ++c) acc[c] *= keep;
      }
      out.noalias() += Input(p, nq, b.nk, Stride(kKeys)) * rows_of(h.v, b.k, b.nk);
    });
    for (std::int64_t i = 0; i < nq; ++i) {
      float* acc = o.data + (q + i) * o.stride;
      for (std::int64_t c = 0; c < o.cols; ++c) acc[c] /= sum[i];
      h.lse[(q + i) * h.lse_stride] = max[i] + std::log(sum[i]);
    }
  }
}

void flash_backward(const FlashHead& h, FlashGradient g) {
  alignas(64) float p_block[kQueries * kKeys];
  alignas(64) float ds_block[kQueries * kKeys];
  float delta[kQueries];  // rowsum(do * o): the softmax's own term
  for (std::int64_t q = 0; q < h.seq; q += kQueries) {
    const std::int64_t nq = std::min(kQueries, h.seq - q);
    for (std::int64_t i = 0; i < nq; ++i) {
      delta[i] =
          dot(h.d_o.data + (q + i) * h.d_o.stride, h.o.data + (q + i) * h.o.stride, h.o.cols);
    }
    const Input d_o = rows_of(h.d_o, q, nq);
    for_each_key_block(q, nq, [&](const Block& b) {
      Output p(p_block, nq, b.nk, Stride(kKeys)), ds(ds_block, nq, b.nk, Stride(kKeys));
      scores(h, b, p_block);
      ds.noalias() = d_o * rows_of(h.v, b.k, b.nk).transpose();
      for (std::int64_t i = 0; i < nq; ++i) {
        float *p_row = p_block + i * kKeys, *ds_row = ds_block + i * kKeys;
        exponentials(p_row, b.visible(i), b.nk, h.scale, h.lse[(q + i) * h.lse_stride]);
        for (std::int64_t j = 0; j < b.nk; ++j) {
          ds_row[j] = p_row[j] * (ds_row[j] - delta[i]) * h.scale;
        }
      }
      rows_of(g.dv, b.k, b.nk).noalias() += p.transpose() * d_o;
      for (std::size_t part = 0; part < 2 && h.q[part].cols > 0; ++part) {
        rows_of(g.dq[part], q, nq).noalias() += ds * rows_of(h.k[part], b.k, b.nk);
        rows_of(g.dk[part], b.k, b.nk).noalias() += ds.transpose() * rows_of(h.q[part], q, nq);
      }
    });
  }
}

}  // namespace pleat::cpu
