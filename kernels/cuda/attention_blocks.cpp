// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/fused_attention.hpp"

#include "core/diagnostics.hpp"
#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/head_rows.hpp"
#include "kernels/cuda/visible_keys.hpp"

namespace pleat::cuda {
namespace {

// The rows that a run's block has of operands.
struct Run {
  std::int64_t first_row = 0, rows = 0, first_key = 0, keys = 0;
  Run(const AttentionPiece& p, const VisibleBlock& b, std::int64_t run)
      : first_row(run * (p.q[0].x.rows / p.batch) + b.first_row),
        rows(b.rows),
        first_key(run * (p.k[0].x.rows / p.batch) + b.first_key),
        keys(b.keys) {}
  [[nodiscard]] HeadColumns queries(const HeadColumns& c) const {
    return row_range(c, first_row, rows);
  }
  [[nodiscard]] HeadColumns of_keys(const HeadColumns& c) const {
    return row_range(c, first_key, keys);
  }
  [[nodiscard]] View lse(View all) const { return row_range(all, first_row, rows); }
};

AttentionBlock block_of(const AttentionPiece& p, const Run& run, bool causal) {
  return {.heads = p.heads,
          .scale = p.scale,
          .q = run.queries(p.q[0]),
          .k = run.of_keys(p.k[0]),
          .v = run.of_keys(p.v),
          .causal = causal};
}

std::optional<VisibleBlock> block_in(const AttentionPiece& p) {
  if (p.q[1].width > 0 || p.k[0].x.rows != p.v.x.rows) return std::nullopt;
  return as_block(p.visible, p.batch, p.q[0].x.rows / p.batch);
}

// After other pieces: over this one's keys alone, in a copy, then both together.
bool join(FusedAttention& fused, Resources& r, const AttentionBlock& b, const HeadColumns& o,
          View lse) {
  const std::size_t bytes =
      Scratch::bytes<std::uint16_t>(o.x.elements()) + Scratch::bytes<float>(lse.elements());
  Scratch copies(r.copies(bytes), bytes);
  HeadColumns other = o;
  other.x.data = copies.take<std::uint16_t>(o.x.elements());
  View other_lse = lse;
  other_lse.data = copies.take<float>(lse.elements());
  if (!fused.forward(b, other, other_lse)) return false;
  merge_pieces(r, other.x, other_lse, o.x, lse);
  return true;
}

// to += from, whose heads lie one after the other.
void add_heads(KernelSet& kernels, View from, const HeadColumns& to) {
  kernels.copy_columns(from, to.x,
                       {.blocks = from.cols / to.width,
                        .width = to.width,
                        .from_stride = to.width,
                        .to_first = to.first,
                        .to_stride = to.stride,
                        .add = true});
}

}  // namespace

bool forward_blocks(FusedAttention& fused, Resources& r, const AttentionPiece& p, HeadColumns o,
                    View lse, bool resume) {
  const auto block = block_in(p);
  if (!block) return false;
  if (!resume && block->rows * p.batch != o.x.rows) return false;  // the others would want zeros
  const bool whole = o.first == 0 && o.stride == o.width && o.share == 1 &&
                     o.x.dtype == DType::bf16 && o.x.cols == p.heads * o.width;
  if (resume && !whole) return false;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const Run run(p, *block, i);
    const AttentionBlock b = block_of(p, run, block->causal);
    const HeadColumns to = run.queries(o);
    const bool done = resume ? join(fused, r, b, to, run.lse(lse))
                             : fused.forward(b, to, run.lse(lse));
    PLEAT_ASSERT(done || i == 0);  // runs are alike
    if (!done) return false;
  }
  return true;
}

bool backward_blocks(FusedAttention& fused, Resources& r, KernelSet& kernels,
                     const AttentionPiece& p, HeadColumns d_o, HeadColumns o, View lse,
                     const AttentionPieceGradient& g) {
  const auto block = block_in(p);
  if (!block) return false;
  const std::int64_t groups = p.heads / p.k[0].share;
  const std::int64_t of_q = block->rows * p.heads * p.q[0].width;
  const std::int64_t of_k = block->keys * groups * p.k[0].width;
  const std::int64_t of_v = block->keys * groups * p.v.width;
  const std::size_t bytes = Scratch::bytes<std::uint16_t>(of_q) +
                            Scratch::bytes<std::uint16_t>(of_k) +
                            Scratch::bytes<std::uint16_t>(of_v);
  Scratch copies(r.copies(bytes), bytes);
  const auto heads = [&](std::int64_t elements, std::int64_t rows) {
    return View{copies.take<std::uint16_t>(elements), DType::bf16, rows, elements / rows};
  };
  const View dq = heads(of_q, block->rows), dk = heads(of_k, block->keys),
             dv = heads(of_v, block->keys);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const Run run(p, *block, i);
    const bool done = fused.backward(block_of(p, run, block->causal), run.queries(d_o),
                                     run.queries(o), run.lse(lse), dq, dk, dv);
    PLEAT_ASSERT(done || i == 0);
    if (!done) return false;
    add_heads(kernels, dq, run.queries(g.dq[0]));
    add_heads(kernels, dk, run.of_keys(g.dk[0]));
    add_heads(kernels, dv, run.of_keys(g.dv));
  }
  return true;
}

}  // namespace pleat::cuda
