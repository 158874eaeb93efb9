// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/narrow_heads.hpp"

#include <algorithm>

#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kRowsAtATime = 64,
                       kBlock = 32;  // kBlock: columns that share a scale of MXFP8

// The columns of every head in every run of rows.
struct Heads {
  Vec<AnyType> x;
  std::int64_t ld, first, stride, width, groups, rows;  // rows of a run
  bool one_scale;  // of all heads and runs
  [[nodiscard]] __device__ std::int64_t cell(std::int64_t run, std::int64_t group) const {
    return one_scale ? 0 : run * groups + group;
  }
  // Element `i` of row `row` of all runs, of a group.
  [[nodiscard]] __device__ std::int64_t at(std::int64_t row, std::int64_t group,
                                           std::int64_t i) const {
    return row * ld + first + group * stride + i;
  }
};

// The largest of some rows of a group and run, a warp each, into the cell of both.
struct Largest {
  Heads h;
  std::int64_t strips;  // of a run
  std::uint32_t* to;    // [cells], the bits of numbers that are not negative
  __device__ void operator()(std::int64_t i, int lane) const {
    std::int64_t strip_of_all, group, run, strip;
    split(i, h.groups, strip_of_all, group);
    split(strip_of_all, strips, run, strip);
    const std::int64_t begin = strip * kRowsAtATime;
    const std::int64_t end = begin + kRowsAtATime < h.rows ? begin + kRowsAtATime : h.rows;
    float most = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t c = lane; c < h.width; c += kWarp) {
        most = fmaxf(most, fabsf(h.x.get(h.at(run * h.rows + row, group, c))));
      }
    }
    most = warp_max(most);
    if (lane == 0) atomicMax(to + h.cell(run, group), __float_as_uint(most));
  }
};

template <pleat::SmallFloat type>
struct RoundByHead {
  Heads h;
  const float* amax;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t place, column, row, group;
    split(i, h.width, place, column);
    split(place, h.groups, row, group);
    const float most = amax[h.cell(row / h.rows, group)];
    const ScaleFactors f =
        factors_of(most, 1.0f, CodeTraits<type>::largest_value, ScaleRule::amax);
    const std::int64_t at = h.at(row, group, column);
    h.x.set(at, decode_code<type>(encode_nearest<type>(h.x.get(at) * f.encode)) * f.decode);
  }
};

// 32 columns of a row, or what is left of them, a thread each.
struct RoundByBlock {
  Heads h;
  std::int64_t blocks;  // of a row and group
  __device__ void operator()(std::int64_t i) const {
    constexpr auto type = pleat::SmallFloat::e4m3;
    std::int64_t place, block, row, group;
    split(i, blocks, place, block);
    split(place, h.groups, row, group);
    const std::int64_t begin = block * kBlock;
    const std::int64_t end = begin + kBlock < h.width ? begin + kBlock : h.width;
    float most = 0;
    for (std::int64_t c = begin; c < end; ++c)
      most = fmaxf(most, fabsf(h.x.get(h.at(row, group, c))));
    const ScaleFactors f =
        factors_of(most, 1.0f, CodeTraits<type>::largest_value, ScaleRule::e8m0);
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t at = h.at(row, group, c);
      h.x.set(at, decode_code<type>(encode_nearest<type>(h.x.get(at) * f.encode)) * f.decode);
    }
  }
};

// What RoundByHead makes numbers of.
struct EncodeByHead {
  Heads h;
  const float* amax;
  std::uint8_t* codes;
  __device__ void operator()(std::int64_t i) const {
    constexpr auto type = pleat::SmallFloat::e4m3;
    std::int64_t place, column, row, group;
    split(i, h.width, place, column);
    split(place, h.groups, row, group);
    const ScaleFactors f = factors_of(amax[h.cell(row / h.rows, group)], 1.0f,
                                      CodeTraits<type>::largest_value, ScaleRule::amax);
    const std::int64_t at = h.at(row, group, column);
    codes[at] = static_cast<std::uint8_t>(encode_nearest<type>(h.x.get(at) * f.encode));
  }
};

constexpr float kMostCode = CodeTraits<pleat::SmallFloat::e4m3>::largest_value;

// Probabilities are at most 1. o is a mean of values, at most the largest but for rounding.
struct WriteFactors {
  const float* amax;  // of q, k and v
  float* to;
  __device__ void set(CodeFactor which, float value) const {
    to[static_cast<std::int64_t>(which) * kFactorStep] = value;
  }
  __device__ void operator()(std::int64_t) const {
    const ScaleFactors v = factors_of(amax[2], 1.0f, kMostCode, ScaleRule::amax);
    set(CodeFactor::q, factors_of(amax[0], 1.0f, kMostCode, ScaleRule::amax).decode);
    set(CodeFactor::k, factors_of(amax[1], 1.0f, kMostCode, ScaleRule::amax).decode);
    set(CodeFactor::v, v.decode);
    set(CodeFactor::probability, 1.0f / kMostCode);
    set(CodeFactor::to_probability, kMostCode);
    set(CodeFactor::to_o, 0.5f * v.encode);
  }
};

struct DecodeHeads {
  const std::uint8_t* codes;
  const float* factors;
  Vec<AnyType> to;
  __device__ void operator()(std::int64_t i) const {
    const float decode =
        1.0f / factors[static_cast<std::int64_t>(CodeFactor::to_o) * kFactorStep];
    to.set(i, decode_code<pleat::SmallFloat::e4m3>(codes[i]) * decode);
  }
};

std::int64_t groups_of(const HeadColumns& c, std::int64_t heads) {
  return c.stride == 0 ? 1 : heads / c.share;
}

Heads heads_of(const HeadColumns& c, std::int64_t batch, std::int64_t heads, bool one_scale) {
  PLEAT_ASSERT(c.x.rows % batch == 0);
  return {vec<AnyType>(c.x), c.x.cols, c.first, c.stride, c.width, groups_of(c, heads),
          c.x.rows / batch,  one_scale};
}

// The largest of each cell.
void find_largest(const Resources& r, const Heads& h, std::int64_t batch, float* cells) {
  const std::int64_t parts = batch * h.groups, strips = ceil_div(h.rows, kRowsAtATime);
  const auto bytes = static_cast<std::size_t>(h.one_scale ? 1 : parts) * sizeof(float);
  r.device().make_current();
  PLEAT_CUDA_CHECK(cudaMemsetAsync(cells, 0, bytes, native(r)));
  for_rows<kWarp>(r, parts * strips, Largest{h, strips, reinterpret_cast<std::uint32_t*>(cells)});
}

}  // namespace

NarrowHeads::NarrowHeads(Resources& r, const AttentionPiece& p) : r_(r), piece_(p) {
  copy_all({&piece_.q[0], &piece_.q[1], &piece_.k[0], &piece_.k[1], &piece_.v});
}

NarrowHeads::NarrowHeads(Resources& r, const AttentionPiece& p, const HeadColumns& d_o,
                         bool one_scale)
    : r_(r), piece_(p), d_o_(d_o), one_scale_(one_scale) {
  copy_all({&piece_.q[0], &piece_.q[1], &piece_.k[0], &piece_.k[1], &piece_.v, &d_o_});
}

void NarrowHeads::copy_all(const std::vector<HeadColumns*>& operands) {
  std::vector<Copy> copies;
  std::size_t bytes = Scratch::bytes<float>(piece_.batch * piece_.heads);
  for (HeadColumns* c : operands) {
    const auto same = [&](const Copy& copy) { return copy.of.data == c->x.data; };
    if (c->width == 0 || std::ranges::any_of(copies, same)) continue;
    copies.push_back({c->x, c->x});
    bytes += Scratch::bytes<std::byte>(bytes_of(c->x.dtype, c->x.elements()));
  }
  Scratch memory(r_.narrow(bytes), bytes);
  amax_ = memory.take<float>(piece_.batch * piece_.heads);
  r_.device().make_current();
  for (Copy& c : copies) {
    const std::int64_t size = bytes_of(c.of.dtype, c.of.elements());
    c.view.data = memory.take_bytes(Scratch::bytes<std::byte>(size));
    if (size == 0) continue;
    PLEAT_CUDA_CHECK(cudaMemcpyAsync(c.view.data, c.of.data, static_cast<std::size_t>(size),
                                     cudaMemcpyDeviceToDevice, native(r_)));
  }
  for (HeadColumns* c : operands) {
    for (const Copy& copy : copies) {
      if (c->width > 0 && c->x.data == copy.of.data) {
        c->x = copy.view;
        round(*c, c == &d_o_);
        break;
      }
    }
  }
  piece_.math = DType::fp32;
}

void NarrowHeads::round(const HeadColumns& c, bool gradient) {
  if (c.x.rows == 0) return;
  const Heads h = heads_of(c, piece_.batch, piece_.heads, one_scale_ && !gradient);
  if (piece_.math == DType::mxfp8) {
    const std::int64_t blocks = ceil_div(c.width, kBlock);
    return for_each(r_, c.x.rows * h.groups * blocks, RoundByBlock{h, blocks});
  }
  PLEAT_ASSERT(piece_.math == DType::fp8);
  find_largest(r_, h, piece_.batch, amax_);
  by_format(gradient ? pleat::SmallFloat::e5m2 : pleat::SmallFloat::e4m3, [&](auto type) {
    for_each(r_, c.x.rows * h.groups * c.width, RoundByHead<decltype(type)::value>{h, amax_});
  });
}

void encode_heads(const Resources& r, const AttentionPiece& p, std::uint8_t* codes, float* amax,
                  float* factors) {
  int cell = 0;
  for (const HeadColumns* c : {&p.q[0], &p.k[0], &p.v}) {
    const Heads h = heads_of(*c, p.batch, p.heads, true);
    float* const largest = amax + cell++;
    find_largest(r, h, p.batch, largest);
    for_each(r, c->x.rows * h.groups * c->width, EncodeByHead{h, largest, codes});
  }
  for_each(r, 1, WriteFactors{amax, factors});
}

void decode_heads(const Resources& r, const std::uint8_t* codes, const float* factors, View o) {
  for_each(r, o.elements(), DecodeHeads{codes, factors, vec<AnyType>(o)});
}

}  // namespace pleat::cuda
