// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In place of cuDNN, where a test asks for it: attention in loops, of operands as cudnn_sdpa.hpp
// says they lie. What tensor cores read is rounded: probabilities and the gradients of scores.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/cudnn_sdpa.hpp"

namespace pleat::cuda {

bool emulated_cudnn = false;
int emulated_attentions = 0;

struct SdpaLibrary::Graph {};
struct SdpaLibrary::Handle {};

namespace {

double rounded(double v) { return to_float(to_bf16(static_cast<float>(v))); }

// Where the rows of one sequence and head begin.
struct Rows {
  const void* data;
  SdpaOperand at;
  std::int64_t first;
  [[nodiscard]] float get(std::int64_t row, std::int64_t col) const {
    return to_float(static_cast<const Bf16*>(data)[first + row * at.ld + col]);
  }
  void set(std::int64_t row, std::int64_t col, double v) const {
    static_cast<Bf16*>(const_cast<void*>(data))[first + row * at.ld + col] =
        to_bf16(static_cast<float>(v));
  }
};

Rows rows_of(const void* data, const SdpaOperand& at, const SdpaShape& s, const void* beginnings,
             std::int64_t sequence, std::int64_t head, bool of_keys = false) {
  const std::int64_t length = of_keys ? s.key_count() : s.seq;
  const std::int64_t first = s.ragged ? static_cast<const std::int32_t*>(beginnings)[sequence]
                                      : sequence * length * at.ld;
  return {data, at, first + head * at.step};
}

struct Head {
  Rows q, k, v, o;
  float* stats;
  std::int64_t length;
};

double score(const SdpaShape& s, const Head& h, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t c = 0; c < s.width; ++c) sum += double{h.q.get(i, c)} * h.k.get(j, c);
  return sum * s.scale;
}

std::int64_t first_seen(const SdpaShape& s, std::int64_t i) {
  return s.window > 0 ? std::max<std::int64_t>(0, i + 1 - s.window) : 0;
}
std::int64_t keys_seen(const SdpaShape& s, std::int64_t i) {  // up to here
  return s.unmasked ? s.key_count() : i + 1;
}

// As cuDNN with codes: probabilities, at most 1, are codes between the products, o when it is
// written.
void forward_of_codes(const SdpaShape& s, const SdpaPointers& p, const Head& h,
                      std::int64_t stats_at) {
  const auto factor = [&](CodeFactor which) {
    return p.factors[static_cast<std::int64_t>(which) * kFactorStep];
  };
  const auto get = [](const Rows& rows, std::int64_t row, std::int64_t col) {
    const std::int64_t at = rows.first + row * rows.at.ld + col;
    return decode(SmallFloat::e4m3, static_cast<const std::uint8_t*>(rows.data)[at]);
  };
  const float both = factor(CodeFactor::q) * factor(CodeFactor::k);
  for (std::int64_t i = 0; i < h.length; ++i) {
    std::vector<double> scores;
    double most = -INFINITY, sum = 0;
    for (std::int64_t j = first_seen(s, i); j <= i; ++j) {
      double dot = 0;
      for (std::int64_t c = 0; c < s.width; ++c) dot += double{get(h.q, i, c)} * get(h.k, j, c);
      scores.push_back(dot * both * s.scale);
      most = std::max(most, scores.back());
    }
    for (const double x : scores) sum += std::exp(x - most);
    for (std::int64_t c = 0; c < s.value_width; ++c) {
      double o = 0;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const auto probability = static_cast<float>(std::exp(scores[j] - most) / sum);
        const float rounded =
            decode(SmallFloat::e4m3,
                   encode(SmallFloat::e4m3, probability * factor(CodeFactor::to_probability)));
        o += double{rounded} * get(h.v, first_seen(s, i) + static_cast<std::int64_t>(j), c);
      }
      const float value =
          static_cast<float>(o) * factor(CodeFactor::probability) * factor(CodeFactor::v);
      auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(h.o.data));
      to[h.o.first + i * h.o.at.ld + c] =
          encode(SmallFloat::e4m3, value * factor(CodeFactor::to_o));
    }
    p.stats[stats_at + i] = static_cast<float>(most + std::log(sum));
  }
}

void forward(const SdpaShape& s, const Head& h) {
  for (std::int64_t i = 0; i < h.length; ++i) {
    double most = -INFINITY, sum = 0;
    const std::int64_t first = first_seen(s, i), end = keys_seen(s, i);
    for (std::int64_t j = first; j < end; ++j) most = std::max(most, score(s, h, i, j));
    std::vector<double> o(static_cast<std::size_t>(s.value_width));
    for (std::int64_t j = first; j < end; ++j) {
      const double p = std::exp(score(s, h, i, j) - most);
      sum += p;
      for (std::int64_t c = 0; c < s.value_width; ++c)
        o[static_cast<std::size_t>(c)] += rounded(p) * h.v.get(j, c);
    }
    for (std::int64_t c = 0; c < s.value_width; ++c)
      h.o.set(i, c, o[static_cast<std::size_t>(c)] / sum);
    h.stats[i] = static_cast<float>(most + std::log(sum));
  }
}

using Sums = std::vector<double>;

// Adds to dk and dv, [keys, width], of a group.
void backward(const SdpaShape& s, const Head& h, const Rows& d_o, const Rows& dq, Sums& dk,
              Sums& dv) {
  for (std::int64_t i = 0; i < h.length; ++i) {
    double delta = 0;
    for (std::int64_t c = 0; c < s.value_width; ++c) delta += double{d_o.get(i, c)} * h.o.get(i, c);
    Sums row(static_cast<std::size_t>(s.width));
    for (std::int64_t j = first_seen(s, i); j < keys_seen(s, i); ++j) {
      const double p = std::exp(score(s, h, i, j) - h.stats[i]);
      double dp = 0;
      for (std::int64_t c = 0; c < s.value_width; ++c) {
        dp += double{d_o.get(i, c)} * h.v.get(j, c);
        dv[static_cast<std::size_t>(j * s.value_width + c)] += rounded(p) * d_o.get(i, c);
      }
      const double ds = rounded(p * (dp - delta)) * s.scale;
      for (std::int64_t c = 0; c < s.width; ++c) {
        row[static_cast<std::size_t>(c)] += ds * h.k.get(j, c);
        dk[static_cast<std::size_t>(j * s.width + c)] += ds * h.q.get(i, c);
      }
    }
    for (std::int64_t c = 0; c < s.width; ++c) dq.set(i, c, row[static_cast<std::size_t>(c)]);
  }
}

void write(const Rows& to, const Sums& from, std::int64_t length, std::int64_t width) {
  for (std::int64_t i = 0; i < length * width; ++i) {
    to.set(i / width, i % width, from[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

SdpaLibrary::SdpaLibrary(const Resources&, bool deterministic) : deterministic_(deterministic) {}
SdpaLibrary::~SdpaLibrary() = default;
bool SdpaLibrary::available() { return emulated_cudnn; }

std::string SdpaLibrary::status() { return emulated_cudnn ? "emulated" : "not emulated"; }
std::int64_t SdpaLibrary::prepare(const SdpaShape&) { return 256; }
std::string SdpaLibrary::objection(const SdpaShape&, bool) { return ""; }

void SdpaLibrary::run(const SdpaShape& s, const SdpaPointers& p, void*) {
  ++emulated_attentions;
  const std::int64_t share = s.heads / s.groups;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t length =
        s.ragged ? static_cast<const std::int32_t*>(p.lengths)[b] : s.seq;
    const std::int64_t keys = s.ragged ? length : s.key_count();
    const SdpaOperand &to_q = s.dq.ld > 0 ? s.dq : s.q, &to_k = s.dk.ld > 0 ? s.dk : s.k,
                      &to_v = s.dv.ld > 0 ? s.dv : s.v;
    for (std::int64_t g = 0; g < s.groups; ++g) {
      Sums dk(static_cast<std::size_t>(keys * s.width)),
          dv(static_cast<std::size_t>(keys * s.value_width));
      for (std::int64_t n = g * share; n < (g + 1) * share; ++n) {
        const Head h{rows_of(p.q, s.q, s, p.q_first, b, n),
                     rows_of(p.k, s.k, s, p.k_first, b, g, true),
                     rows_of(p.v, s.v, s, p.v_first, b, g, true),
                     rows_of(p.o, s.o, s, p.o_first, b, n),
                     p.stats + (b * s.heads + n) * s.seq,
                     length};
        if (!s.backward) {
          s.codes ? forward_of_codes(s, p, h, (b * s.heads + n) * s.seq) : forward(s, h);
          continue;
        }
        backward(s, h, rows_of(p.d_o, s.o, s, p.o_first, b, n),
                 rows_of(p.dq, to_q, s, p.q_first, b, n), dk, dv);
      }
      if (!s.backward) continue;
      write(rows_of(p.dk, to_k, s, p.k_first, b, g, true), dk, keys, s.width);
      write(rows_of(p.dv, to_v, s, p.v_first, b, g, true), dv, keys, s.value_width);
    }
  }
}

}  // namespace pleat::cuda
