// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/packed_keys.hpp"

#include <utility>

namespace pleat::execute {

ColumnBlocks WholeKeys::blocks(std::int64_t width, std::int64_t at_kv,
                               std::int64_t at_whole) const {
  const std::int64_t local = a.head_dim + a.v_dim;
  return {.blocks = heads,
          .width = width,
          .from_first = first * local + at_kv,
          .from_stride = local,
          .to_first = at_whole,
          .to_stride = local + a.rope_dim};
}

void WholeKeys::pack(KernelSet& k, View kv, View kpe, View whole) const {
  k.copy_columns(kv, whole, blocks(a.head_dim, 0, 0));
  k.copy_columns(kv, whole, blocks(a.v_dim, a.head_dim, a.head_dim + a.rope_dim));
  if (a.rope_dim == 0) return;
  ColumnBlocks rotary = blocks(a.rope_dim, 0, a.head_dim);
  rotary.from_first = kpe.cols - a.rope_dim;
  rotary.from_stride = 0;
  k.copy_columns(kpe, whole, rotary);
}

void WholeKeys::unpack(KernelSet& k, View whole, View dkv, View dkpe) const {
  const auto inverse = [](ColumnBlocks b) {
    std::swap(b.from_first, b.to_first);
    std::swap(b.from_stride, b.to_stride);
    return b;
  };
  k.copy_columns(whole, dkv, inverse(blocks(a.head_dim, 0, 0)));
  k.copy_columns(whole, dkv, inverse(blocks(a.v_dim, a.head_dim, a.head_dim + a.rope_dim)));
  if (a.rope_dim == 0) return;
  ColumnBlocks rotary = inverse(blocks(a.rope_dim, 0, a.head_dim));
  rotary.to_first = dkpe.cols - a.rope_dim;
  rotary.to_stride = 0;
  rotary.add = true;
  k.copy_columns(whole, dkpe, rotary);
}

void pack_piece(const Call& c, KernelSet& kernels, View piece) {
  const View rotary = optional_operand(c.in, 1);
  if (rotary.data != nullptr) {
    return WholeKeys{c.op.attr, 0, c.op.attr.heads}.pack(kernels, c.in[0], rotary, piece);
  }
  kernels.copy_columns(c.in[0], piece,
                       {.width = piece.cols, .from_first = c.in[0].cols - piece.cols});
}

void unpack_piece(const Call& c, KernelSet& kernels, View piece) {
  const View rotary = optional_operand(c.out, 1);
  if (rotary.data != nullptr) {
    kernels.zero(rotary);
    return WholeKeys{c.op.attr, 0, c.op.attr.heads}.unpack(kernels, piece, c.out[0], rotary);
  }
  kernels.copy_columns(piece, c.out[0],
                       {.width = piece.cols, .to_first = c.out[0].cols - piece.cols});
}

}  // namespace pleat::execute
