// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of the interface: cuDNN for bf16 where it can, our own kernels for the rest.
#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/cudnn_sdpa.hpp"
#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_heads.hpp"

namespace pleat {
namespace {

void check(View qkv, View o, View lse, const AttentionShape& s) {
  PLEAT_ASSERT(s.kv_groups > 0 && s.heads % s.kv_groups == 0);
  PLEAT_ASSERT(qkv.rows == s.batch * s.seq && o.rows == qkv.rows && qkv.cols == s.columns());
  PLEAT_ASSERT(o.cols == s.heads * s.value_dim() && lse.elements() == qkv.rows * s.heads);
}

void check(View q, View kv, View kpe, View o, View lse, const MlaShape& s) {
  const std::int64_t rows = s.batch * s.seq;
  PLEAT_ASSERT(s.nope > 0 && s.rope >= 0);
  PLEAT_ASSERT(q.rows == rows && kv.rows == rows && kpe.rows == rows && o.rows == rows);
  PLEAT_ASSERT(q.cols == s.heads * (s.nope + s.rope) && kv.cols == s.heads * (s.nope + s.v));
  PLEAT_ASSERT(kpe.cols == s.kv_lora + s.rope && o.cols == s.heads * s.v);
  PLEAT_ASSERT(lse.elements() == rows * s.heads);
}

HeadColumns by_head(View x, std::int64_t width) {
  return {.x = x, .first = 0, .stride = width, .width = width};
}

bool forward(cuda::FusedAttention& fused, const AttentionPiece& p, const HeadColumns& o, View lse) {
  return is_quantized(p.math) ? fused.forward_of_codes(p, o, lse) : fused.forward(p, o, lse);
}

// Notes who computes.
bool taken(bool by_library, cuda::Implementation which = cuda::Implementation::cudnn) {
  cuda::note_taken_by(by_library ? which : cuda::Implementation::own);
  return by_library;
}

// After other pieces: over this one's keys alone, in a copy, then both together.
bool resumed(cuda::FusedAttention& fused, cuda::Resources& r, const AttentionPiece& p,
             const HeadColumns& o, View lse) {
  if (o.x.dtype != DType::bf16 || o.first != 0 || o.stride != o.width || o.share != 1) return false;
  if (o.x.cols != p.heads * o.width) return false;
  const std::size_t bytes = cuda::Scratch::bytes<std::uint16_t>(o.x.elements()) +
                            cuda::Scratch::bytes<float>(lse.elements());
  cuda::Scratch copies(r.copies(bytes), bytes);
  HeadColumns other = o;
  other.x.data = copies.take<std::uint16_t>(o.x.elements());
  View other_lse = lse;
  other_lse.data = copies.take<float>(lse.elements());
  if (!forward(fused, p, other, other_lse)) return false;
  cuda::merge_pieces(r, other.x, other_lse, o.x, lse);
  return true;
}

}  // namespace

void CudaKernels::attention(View qkv, View o, View lse, const AttentionShape& s) {
  check(qkv, o, lse, s);
  if (qkv.rows == 0) return;
  if (taken(fused_ != nullptr && fused_->forward(qkv, o, lse, s))) return;
  cuda::flash_forward(*resources_, cuda::flash_problem(qkv, s), by_head(o, s.value_dim()), lse,
                      false);
}

void CudaKernels::attention_bwd(View d_o, View qkv, View o, View lse, View dqkv,
                                const AttentionShape& s) {
  check(qkv, o, lse, s);
  PLEAT_ASSERT(d_o.rows == o.rows && d_o.cols == o.cols);
  PLEAT_ASSERT(dqkv.rows == qkv.rows && dqkv.cols == qkv.cols);
  if (qkv.rows == 0) return;
  const auto in_runs = [&] {
    const ScoreGradients scores = cuda::scores_of(s);
    return goes_in_runs(scores, cuda::most_group_bytes) &&
           cuda::backward_in_runs(*fused_, *resources_, *this, d_o, qkv, o, lse, dqkv, s,
                                  rows_at_once(scores, cuda::most_score_bytes));
  };
  if (taken(fused_ != nullptr && (fused_->backward(d_o, qkv, o, lse, dqkv, s) || in_runs()))) {
    return;
  }
  const cuda::FlashProblem to = cuda::flash_problem(dqkv, s);
  cuda::flash_backward(*resources_, cuda::flash_problem(qkv, s), by_head(d_o, s.value_dim()),
                       by_head(o, s.value_dim()), lse,
                       {.dq = {to.q[0], {}}, .dk = {to.k[0], {}}, .dv = to.v});
}

void CudaKernels::mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape& s) {
  check(q, kv, kpe, o, lse, s);
  if (q.rows == 0) return;
  if (taken(fused_ != nullptr && fused_->forward(q, kv, kpe, o, lse, s))) return;
  cuda::flash_forward(*resources_, cuda::flash_problem(q, kv, kpe, s), by_head(o, s.v), lse, false);
}

void CudaKernels::mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq,
                                    View dkv, View dkpe, const MlaShape& s) {
  check(q, kv, kpe, o, lse, s);
  check(dq, dkv, dkpe, d_o, lse, s);
  if (q.rows == 0) return;
  if (taken(fused_ != nullptr &&
            fused_->backward(d_o, q, kv, kpe, o, lse, dq, dkv, dkpe, s))) {
    return;
  }
  const cuda::FlashProblem to = cuda::flash_problem(dq, dkv, dkpe, s);
  cuda::flash_backward(*resources_, cuda::flash_problem(q, kv, kpe, s), by_head(d_o, s.v),
                       by_head(o, s.v), lse,
                       {.dq = {to.q[0], to.q[1]}, .dk = {to.k[0], to.k[1]}, .dv = to.v});
}

void CudaKernels::attention_piece(const AttentionPiece& p, HeadColumns o, View lse, bool resume) {
  PLEAT_ASSERT(p.visible != nullptr);
  cuda::note_taken_by(cuda::Implementation::own);
  if (fused_ != nullptr && (!is_quantized(p.math) || codes_)) {
    const bool done =
        resume ? resumed(*fused_, *resources_, p, o, lse) : forward(*fused_, p, o, lse);
    const auto library =
        is_quantized(p.math) ? cuda::Implementation::cudnn_codes : cuda::Implementation::cudnn;
    if (taken(done, library)) return;
  }
  const bool blocks = fused_ != nullptr && !is_quantized(p.math);
  if (blocks && taken(cuda::forward_blocks(*fused_, *resources_, p, o, lse, resume))) return;
  if (is_quantized(p.math)) {
    return attention_piece(cuda::NarrowHeads(*resources_, p).piece(), o, lse, resume);
  }
  cuda::flash_forward(*resources_,
                      {.batch = p.batch,
                       .heads = p.heads,
                       .scale = p.scale,
                       .q = {p.q[0], p.q[1]},
                       .k = {p.k[0], p.k[1]},
                       .v = p.v,
                       .visible = p.visible},
                      o, lse, resume);
}

void CudaKernels::attention_piece_bwd(const AttentionPiece& p, HeadColumns d_o, HeadColumns o,
                                      View lse, const AttentionPieceGradient& g) {
  PLEAT_ASSERT(p.visible != nullptr);
  if (is_quantized(p.math)) {
    const bool one_scale = fused_ != nullptr && codes_ && fused_->takes_codes(p, o);
    const cuda::NarrowHeads narrow(*resources_, p, d_o, one_scale);
    return attention_piece_bwd(narrow.piece(), narrow.d_o(), o, lse, g);
  }
  if (taken(fused_ != nullptr &&
            (fused_->backward(p, d_o, o, lse, g) ||
             cuda::backward_blocks(*fused_, *resources_, *this, p, d_o, o, lse, g)))) {
    return;
  }
  cuda::flash_backward(*resources_,
                       {.batch = p.batch,
                        .heads = p.heads,
                        .scale = p.scale,
                        .q = {p.q[0], p.q[1]},
                        .k = {p.k[0], p.k[1]},
                        .v = p.v,
                        .visible = p.visible},
                       d_o, o, lse,
                       {.dq = {g.dq[0], g.dq[1]},
                        .dk = {g.dk[0], g.dk[1]},
                        .dv = g.dv,
                        .add = true});
}

}  // namespace pleat
