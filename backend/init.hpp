// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Initial weights, the same for every layout: each whole tensor's numbers depend on the seed and on
// its global name only, and a rank has its part of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/program/program.hpp"

namespace pleat {

// A part of a weight under its global name: "embedding", "layers.3.qkv", "layers.3.experts.5.fc1".
// A grouped weight [El, n, k] has one part for each local expert.
struct NamedPart {
  std::string name;
  std::int64_t offset = 0, elements = 0;  // within the rank's weight
  std::int64_t whole = 0;                 // elements of the whole tensor
  std::vector<WeightRun> runs;                  // from `offset` to the whole; the rest is padding
  bool copy = false;  // of an expert whose home is elsewhere: its state does not count
};
// Which part of the weights a rank holds.
struct WeightRank {
  int tp = 0, etp = 0, ep = 0;
};
[[nodiscard]] std::vector<NamedPart> named_parts(const LayerProgram&, const LayerInstance&,
                                                 const Weight&, const WeightRank&);

[[nodiscard]] WeightRank weight_rank(const Plan&, Rank);

enum class InitialValue { ones, ones_then_zeros, zeros, normal };
// Ones for the scales of norms (zeros for the shifts after them), zeros for other vectors (biases),
// a normal distribution for matrices.
[[nodiscard]] InitialValue initial_value(const LayerProgram&, const Weight&);

// Of every weight of a program of one rank, by its global name.
[[nodiscard]] std::map<std::string, InitialValue> initial_values(const Program&);

inline constexpr double kInitStd = 0.02;

// Of random bits that belong to a name and a seed.
[[nodiscard]] std::uint64_t random_key(const std::string& name, std::uint64_t seed);
// normal(0, kInitStd): element i of the whole tensor is a function of (name, seed, i) alone; out
// holds those from `first`. At most so many threads share the work; 0: as many as the machine has.
void fill_normal(const std::string& name, std::uint64_t seed, std::int64_t first,
                 std::span<float> out, std::size_t threads = 0);
void fill_initial(InitialValue, const std::string& name, std::uint64_t seed, std::int64_t first,
                  std::span<float> out);

}  // namespace pleat
