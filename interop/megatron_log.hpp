// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads a training log of Megatron-LM: the arguments that it prints, the times of iterations, the
// memory of ranks. Lines may begin with a prefix (of srun --label or torchrun, or a time stamp). A
// line that several ranks have printed counts once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interop/flag_table.hpp"

namespace pleat::interop {

struct LogIteration {
  std::int64_t iteration = 0;
  std::int64_t planned = 0;              // iterations of the run; 0: not said
  double milliseconds = 0;               // elapsed time per iteration
  std::optional<double> tflops_per_gpu;  // throughput as the run counts it
  std::optional<double> loss;            // "lm loss"; it may be NaN
};

struct LogMemory {  // bytes; the largest values that a rank has printed
  std::int64_t max_allocated = 0, max_reserved = 0;
};

struct MegatronLog {
  Arguments arguments;                   // empty when the log does not have them
  std::vector<LogIteration> iterations;  // by number, each once
  std::map<int, LogMemory> memory;       // by rank
};

[[nodiscard]] MegatronLog parse_megatron_log(const std::string& text);

// The median of the iterations after the first `warmup` lines.
struct LogTimes {
  std::size_t dropped = 0, used = 0;
  double median_seconds = 0, fastest_seconds = 0, slowest_seconds = 0;
  std::optional<double> median_tflops;
};
// Throws ConfigError (bad_file, at `where`) when no iteration is left.
[[nodiscard]] LogTimes log_times(const MegatronLog&, std::size_t warmup, const std::string& where);

}  // namespace pleat::interop
