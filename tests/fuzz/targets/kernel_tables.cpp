// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tables of measured kernels and collectives (CSV): both readers see every input.
#include <cmath>

#include "core/diagnostics.hpp"
#include "core/spec/kernel_tables.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  const std::string text(input);
  try {
    const GemmTable table = parse_gemm_table(text, "gemm.csv");
    require(std::isfinite(correction_at(table, 4096, 4096, 4096).log), "a correction without end");
  } catch (const ConfigError&) {
    const CollectiveTable table = parse_collective_table(text, "collectives.csv");
    for (const auto& series : table.series) {
      for (const CollectiveSeries& s : series) {
        const double time = time_at(s, Bytes(1e6)).time.base();
        require(std::isfinite(time) && time >= 0, "a time below zero or without end");
      }
    }
  }
}

}  // namespace pleat::fuzz
