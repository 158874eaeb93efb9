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
  bool first;  // of these queries
  const std::int32_t (*visible)[2];
  // Keys of this block [begin, end) that query q+i may see.
  [[nodiscard]] std::int64_t begin(std::int64_t i) const {
    return visible == nullptr ? 0 : std::clamp<std::int64_t>(visible[q + i][0] - k, 0, nk);
  }
  [[nodiscard]] std::int64_t end(std::int64_t i) const {
    const std::int64_t last = visible == nullptr ? q + i + 1 : visible[q + i][1];
    return std::clamp<std::int64_t>(last - k, 0, nk);
  }
};

// Calls visit for the blocks of queries [q, q+nq), keys ascending over all that one of them sees.
template <class Visit>
void for_each_key_block(const FlashHead& h, std::int64_t q, std::int64_t nq, Visit visit) {
  std::int64_t begin = 0, end = q + nq;
  if (h.visible != nullptr) {
    begin = std::numeric_limits<std::int64_t>::max();
    end = 0;
    for (std::int64_t i = q; i < q + nq; ++i) {
      if (h.visible[i][0] >= h.visible[i][1]) continue;
      begin = std::min<std::int64_t>(begin, h.visible[i][0]);
      end = std::max<std::int64_t>(end, h.visible[i][1]);
    }
  }
  for (std::int64_t k = begin; k < end; k += kKeys) {
    visit(Block{.q = q,
                .nq = nq,
                .k = k,
                .nk = std::min(kKeys, end - k),
                .first = k == begin && !h.resume,
                .visible = h.visible});
  }
}

void scores(const FlashHead& h, const Block& b, float* out) {
  Output s(out, b.nq, b.nk, Stride(kKeys));
  s.noalias() = rows_of(h.q[0], b.q, b.nq) * rows_of(h.k[0], b.k, b.nk).transpose();
  if (h.q[1].cols > 0) {
    s.noalias() += rows_of(h.q[1], b.q, b.nq) * rows_of(h.k[1], b.k, b.nk).transpose();
  }
}

// Scores of one row to exp(scale * score - max) in place, those outside [begin, end) to 0; returns
// their sum.
float exponentials(float* s, std::int64_t begin, std::int64_t end, std::int64_t n, float scale,
                   float max) {
  std::fill(s, s + begin, 0.0F);
  for (std::int64_t j = begin; j < end; ++j) s[j] = exp_f32(s[j] * scale - max);
  std::fill(s + std::max(begin, end), s + n, 0.0F);
  const float* seen = s + begin;
  return lane_sum<float>(end - begin, [=](std::int64_t j) { return seen[j]; });
}

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

void flash_forward(const FlashHead& h, Rows<float> o) {
  alignas(64) float p[kQueries * kKeys];
  float max[kQueries], sum[kQueries];
  for (std::int64_t q = 0; q < h.seq; q += kQueries) {
    const std::int64_t nq = std::min(kQueries, h.seq - q);
    Output out = rows_of(o, q, nq);
    if (!h.resume) out.setZero();
    for (std::int64_t i = 0; i < nq; ++i) {  // what came before counts as one key
      max[i] = h.resume ? h.lse[(q + i) * h.lse_stride] : kNone;
      sum[i] = max[i] == kNone ? 0.0F : 1.0F;
    }
    for_each_key_block(h, q, nq, [&](const Block& b) {
      scores(h, b, p);
      for (std::int64_t i = 0; i < nq; ++i) {
        float* row = p + i * kKeys;
        const std::int64_t begin = b.begin(i), end = b.end(i);
        if (begin >= end) {
          std::fill(row, row + b.nk, 0.0F);
          continue;
        }
        const float top = std::max(max[i], row_max(row + begin, end - begin) * h.scale);
        const float keep = max[i] == kNone ? 0.0F : exp_f32(max[i] - top);
        sum[i] = sum[i] * keep + exponentials(row, begin, end, b.nk, h.scale, top);
        max[i] = top;
        float* acc = o.data + (q + i) * o.stride;
        for (std::int64_t c = 0; !b.first && c < o.cols; ++c) acc[c] *= keep;
      }
      out.noalias() += Input(p, nq, b.nk, Stride(kKeys)) * rows_of(h.v, b.k, b.nk);
    });
    for (std::int64_t i = 0; i < nq; ++i) {
      float* acc = o.data + (q + i) * o.stride;
      for (std::int64_t c = 0; sum[i] > 0 && c < o.cols; ++c) acc[c] /= sum[i];
      h.lse[(q + i) * h.lse_stride] = sum[i] > 0 ? max[i] + std::log(sum[i]) : kNone;
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
    for_each_key_block(h, q, nq, [&](const Block& b) {
      Output p(p_block, nq, b.nk, Stride(kKeys)), ds(ds_block, nq, b.nk, Stride(kKeys));
      scores(h, b, p_block);
      ds.noalias() = d_o * rows_of(h.v, b.k, b.nk).transpose();
      for (std::int64_t i = 0; i < nq; ++i) {
        float *p_row = p_block + i * kKeys, *ds_row = ds_block + i * kKeys;
        const std::int64_t begin = b.begin(i), end = std::max(begin, b.end(i));
        exponentials(p_row, begin, end, b.nk, h.scale, h.lse[(q + i) * h.lse_stride]);
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
