// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention whose products read 8 bits (AttentionPiece::math): copies of its operands with the
// values that codes have, as kernels/cpu/mixed_attention.cpp says, rounded to the operand's type.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// The copies live until the next ones are made: calls of a stream run one after the other.
class NarrowHeads {
 public:
  NarrowHeads(Resources&, const AttentionPiece&);
  // one_scale: of fp8's queries, keys and values each, as encode_heads makes them.
  NarrowHeads(Resources&, const AttentionPiece&, const HeadColumns& d_o, bool one_scale);
  // The piece with copies for operands, to be computed in their type.
  [[nodiscard]] const AttentionPiece& piece() const { return piece_; }
  [[nodiscard]] const HeadColumns& d_o() const { return d_o_; }

 private:
  struct Copy {
    View of, view;
  };
  void copy_all(const std::vector<HeadColumns*>& operands);
  void round(const HeadColumns&, bool gradient);

  Resources& r_;
  AttentionPiece piece_;
  HeadColumns d_o_;
  bool one_scale_ = false;
  float* amax_ = nullptr;
};

// Queries, keys and values of one packed matrix as codes of E4M3, one scale each, laid out like the
// matrix; amax[3] is scratch, factors[CodeFactor::count * kFactorStep] what cuDNN needs to know.
void encode_heads(const Resources&, const AttentionPiece&, std::uint8_t* codes, float* amax,
                  float* factors);
void decode_heads(const Resources&, const std::uint8_t* codes, const float* factors, View o);

}  // namespace pleat::cuda
