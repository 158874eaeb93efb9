// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a profile learned from runs of its cluster (`pleat calibrate --from-runs`): which constants
// moved, how sure they are, and the runs that moved them (docs/MODEL.md section 14).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pleat {

// The few things of a platform that runs may correct. Each moves several fields of a profile by one
// factor of time.
enum class LearnedKind : std::uint8_t {
  compute,   // matrix products and attention
  memory,    // kernels that are bound by memory
  exchange,  // collectives and exchanges of tokens
  host       // launches, gaps between layers, once a step
};
inline constexpr std::size_t kLearnedKinds = 4;
// In the order of the enum.
inline constexpr std::array<const char*, kLearnedKinds> kLearnedNames{"compute", "memory",
                                                                      "exchange", "host"};

using LearnedVector = std::array<double, kLearnedKinds>;
using LearnedMatrix = std::array<LearnedVector, kLearnedKinds>;

struct LearnedField {
  std::string name;           // "sustained_clock.gemm_bf16"
  std::string before, after;  // with their units
  bool operator==(const LearnedField&) const = default;
};

struct LearnedConstant {
  double time_factor = 1;            // what it prices takes so many times as long as before
  double prior_error = 0;            // standard deviations of ln(time_factor): before the runs
  double standard_error = 0;         // and after
  std::vector<LearnedField> fields;  // the largest that moved; not every one of an era
  bool operator==(const LearnedConstant&) const = default;
};

struct LearnedRun {
  std::string file, name, what;  // "runs.jsonl", its row or line; "deepseek-v3 on 256 GPUs, TP1 …"
  double measured = 0, before = 0, after = 0;  // seconds a step: measured, predicted
  double weight = 1;                           // 1: counts fully; towards 0: as an outlier
  bool outlier = false;
  bool operator==(const LearnedRun&) const = default;
};

struct Learned {
  std::string from;  // name of the profile that was moved
  double noise = 0;  // standard deviation of ln(measured / predicted) of one run, constants known
  std::array<LearnedConstant, kLearnedKinds> constants{};
  LearnedMatrix covariance{};  // of the logarithms of the time factors
  std::vector<LearnedRun> runs;
  bool operator==(const Learned&) const = default;
};

}  // namespace pleat
