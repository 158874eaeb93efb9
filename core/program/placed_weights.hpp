// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the layout of the buckets asks of a layer's weights: found once for each program, of which a
// stage has many instances.
#pragma once

#include <array>
#include <vector>

#include "core/program/program.hpp"

namespace pleat {

struct PlacedWeight {
  std::size_t weight = 0;     // index into LayerProgram::weights
  std::size_t bucket = 0;     // into StageProgram::buckets
  std::int64_t elements = 0;
  bool table = false;
  bool narrow = false;        // narrow products read it
};

// Classes of parameters in the order in which they lie in a bucket, or a unit of it: those that are
// summed over tp first. Those whose gradients a step clears (not `written`) lie at both ends: a
// `zero` or two clear them all.
inline constexpr std::size_t kWeightClasses = 4, kSummedClasses = 2;  // the first two are summed
[[nodiscard]] inline std::size_t class_of(const Weight& w) {
  return w.summed_over_tp ? (w.written ? 1 : 0) : (w.written ? 2 : 3);
}

// Each list in the order of LayerProgram::weights.
struct PlacedWeights {
  std::size_t count = 0;  // all of them
  std::array<std::vector<PlacedWeight>, kWeightClasses> parameters;
  std::vector<PlacedWeight> biases, loads, amax;  // buffers
  // Elements of a weight, counted from its first one, that several ranks of tp (etp) hold: all of
  // it, or the rows of shared key and value heads.
  struct Copied {
    std::size_t weight = 0;
    Copies copies;
  };
  std::vector<Copied> copies;
};

// The bucket that a weight lies in, into StageProgram::buckets.
[[nodiscard]] std::size_t bucket_of(const LayerProgram&, const Weight&, const Plan&);
// By weight: whether it is the second operand of a product in a narrow type.
[[nodiscard]] std::vector<bool> read_narrow(const LayerProgram&);

// Of each of the stage's layer programs; `narrow`: PlacedWeight::narrow is wanted.
[[nodiscard]] std::vector<PlacedWeights> weights_of(const StageProgram&, const Plan&, bool narrow);

}  // namespace pleat
