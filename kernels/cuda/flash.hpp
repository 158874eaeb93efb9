// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Our own attention kernels: what they are told, and the step that joins pieces.
#pragma once

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Attention of any shape by our own kernels, fp32 arithmetic: whole causal sequences or pieces of
// keys with visible ranges, grouped heads, and keys in two parts (MLA). In blocks of rows and
// columns with a running softmax (FlashAttention-2, arXiv:2307.08691). No tensor cores: for fp32,
// for shapes that the library's kernels lack, and as their reference.

inline constexpr int kMaxHeadWidth = 256;  // of all parts of a key together, and of a value

// q, k and v of `heads` heads; a second part of no width is none.
struct FlashProblem {
  std::int64_t batch = 1, heads = 0;
  double scale = 1;
  HeadColumns q[2] = {}, k[2] = {}, v = {};
  const std::int32_t (*visible)[2] = nullptr;  // host memory; none: causal
  [[nodiscard]] std::int64_t queries() const { return q[0].x.rows / batch; }
  [[nodiscard]] std::int64_t keys() const { return k[0].x.rows / batch; }
};
struct FlashGradients {
  HeadColumns dq[2] = {}, dk[2] = {}, dv = {};
  bool add = false;  // to what is there
};

void flash_forward(Resources&, const FlashProblem&, HeadColumns o, View lse, bool resume);
// Deterministic: one kernel adds up dq by queries, another dk and dv by keys, heads ascending.
void flash_backward(Resources&, const FlashProblem&, HeadColumns d_o, HeadColumns o, View lse,
                    const FlashGradients&);

[[nodiscard]] FlashProblem flash_problem(View qkv, const AttentionShape&);
[[nodiscard]] FlashProblem flash_problem(View q, View kv, View kpe, const MlaShape&);

struct FlashArguments;

// Checks the operands; visible ranges are copied to `visible` (device memory, or none if the
// problem is causal).
[[nodiscard]] FlashArguments flash_arguments(const Resources&, const FlashProblem&,
                                             const HeadColumns& o, View lse, void* visible);
[[nodiscard]] std::size_t visible_bytes(const FlashProblem&);

// Attention over two sets of keys from that over each.

// o and lse become those of all keys: with l = log(exp(lse) + exp(other_lse)),
// o = exp(lse - l) o + exp(other_lse - l) other. Both o are [rows, heads * width], both lse [rows,
// heads].
void merge_pieces(const Resources&, View other, View other_lse, View o, View lse);

}  // namespace pleat::cuda
