// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the layout of the buckets and the step's operations share: names and tensors of a stage's
// state, and the parts that an optimizer's shard is held in.
#pragma once

#include <string>
#include <vector>

#include "core/program/program.hpp"

namespace pleat {

inline TensorId add_state(StageProgram& stage, const std::string& name, TensorClass cls,
                          DType dtype, std::vector<Dim> shape) {
  stage.state.push_back({name, cls, dtype, std::move(shape)});
  return TensorId{static_cast<int>(stage.state.size()) - 1};
}

// Buckets 0 and 1 are those of Bucket; 2 and 3 hold their matrices when Muon makes the step.
[[nodiscard]] inline std::string bucket_name(std::size_t bucket) {
  return std::string(bucket % 2 == 0 ? "dense" : "expert") + (bucket < 2 ? "" : ".matrix");
}
[[nodiscard]] constexpr std::size_t bucket_count(OptimizerKind kind) {
  return kind == OptimizerKind::muon ? 4 : 2;
}
[[nodiscard]] inline bool of_matrices(std::size_t bucket) { return bucket >= 2; }

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
// The matrices of a matrix bucket that the rank with the most work owns: whole matrices are dealt to
// the bucket's shards, each to the one with the least work so far, largest first.
[[nodiscard]] std::vector<MatrixShape> owned_matrices(const StageProgram&, const ModelSpec&,
                                                      const Plan&, std::size_t bucket);

}  // namespace pleat
