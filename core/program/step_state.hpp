// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the layout of the buckets and the step's operations share: names and tensors of a stage's
// state, and the parts that an optimizer's shard is held in.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.hpp"

namespace pleat {

inline TensorId add_state(StageProgram& stage, std::string name, TensorClass cls, DType dtype,
                          std::vector<Dim> shape) {
  stage.state.push_back({std::move(name), cls, dtype, std::move(shape)});
  return TensorId{static_cast<int>(stage.state.size()) - 1};
}

inline Op step_op(OpKind kind, std::string name, Module module, std::vector<TensorId> in,
                  std::vector<TensorId> out, Group group = Group::none) {
  Op op;
  op.kind = kind;
  op.name = std::move(name);
  op.phase = Phase::step;
  op.module = module;
  op.in = std::move(in);
  op.out = std::move(out);
  op.group = group;
  return op;
}

// What a `zero` is to clear. One element alone takes a neighbour along, for n = 1 says all of them.
inline void clear_part(Op& zero, ParameterRange range) {
  const bool alone = range.elements == 1;
  zero.attr.first = alone ? std::max<std::int64_t>(0, range.first - 1) : range.first;
  zero.attr.n = {alone ? 2 : range.elements};
}

// Buckets 0 and 1 are those of Bucket; 2 and 3 hold their matrices when Muon makes the step.
[[nodiscard]] inline std::string bucket_name(std::size_t bucket) {
  return std::string(bucket % 2 == 0 ? "dense" : "expert") + (bucket < 2 ? "" : ".matrix");
}
[[nodiscard]] constexpr std::size_t bucket_count(OptimizerKind kind) {
  return kind == OptimizerKind::muon ? 4 : 2;
}
[[nodiscard]] inline bool of_matrices(std::size_t bucket) { return bucket >= 2; }

// A moment in one of these types has a factor for every kMomentBlock elements: what the backend
// holds beside them.
inline constexpr std::int64_t kMomentBlock = 128;
[[nodiscard]] constexpr std::int64_t in_blocks(std::int64_t elements) {
  return (elements + kMomentBlock - 1) / kMomentBlock * kMomentBlock;
}
[[nodiscard]] constexpr bool scaled_moment(DType type) {
  return type == DType::fp16 || type == DType::fp8;
}

// Consecutive elements of a shard that are consecutive in the bucket too, and all of them, or none,
// held alike by other ranks of tp. Blocks of scales begin anew with each, so that ranks which hold
// the same elements have the same blocks.
struct ShardPart {
  std::int64_t whole = 0, first = 0, elements = 0;  // first of the bucket, of the shard
  std::int64_t scales = 0;                          // those of the parts before
};
// Elements [first, first + elements) of shard number `shard`.
[[nodiscard]] std::vector<ShardPart> shard_parts(const BucketState&, std::int64_t shard,
                                                 std::int64_t first, std::int64_t elements);
// Of the shard that has most.
[[nodiscard]] std::int64_t moment_scales(const BucketState&, std::int64_t first,
                                         std::int64_t elements);

// The table of an embedding, a prediction layer, or a tied head.
[[nodiscard]] bool is_table(const LayerProgram&, const Weight&);
// Tokens that each expert of a layer got in this step, which its bias follows.
[[nodiscard]] bool is_load(const LayerProgram&, const Weight&);

// Does Muon orthogonalise the step of this weight? Matrices but tables, head and biases (mcore
// optimizer/muon.py: two dimensions, no embedding or output parameter).
[[nodiscard]] bool is_muon_matrix(const LayerProgram&, const Weight&);

// `count` matrices [rows, columns], whole over tensor parallelism.
struct MatrixShape {
  std::int64_t rows = 0, columns = 0, count = 0;
  bool operator==(const MatrixShape&) const = default;
};
// The matrices of a matrix bucket that the rank with the most work owns: whole matrices are dealt
// to the bucket's shards, each to the one with the least work so far, largest first.
[[nodiscard]] std::vector<MatrixShape> owned_matrices(const StageProgram&, const ModelSpec&,
                                                      const Plan&, std::size_t bucket);

// All matrices of a matrix bucket, in order.
[[nodiscard]] std::vector<MatrixPart> matrix_parts(const StageProgram&, const ModelSpec&,
                                                   std::size_t bucket);
[[nodiscard]] MatrixShape whole_shape(const MatrixPart&);
// Those that reach into elements [first, end) of it.
[[nodiscard]] std::vector<const MatrixPart*> matrices_in(const std::vector<MatrixPart>&,
                                                         std::int64_t first, std::int64_t end);
// Multiply-adds of one Newton-Schulz iteration: X X^T, its square, and the product with X.
[[nodiscard]] double iteration_work(const MatrixShape&);

}  // namespace pleat
