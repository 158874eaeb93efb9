// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads what NVIDIA's nccl-tests (or AMD's rccl-tests) print: the collective, its ranks and nodes,
// and its times by size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/spec/profile.hpp"

namespace pleat::interop {

struct NcclPoint {
  std::int64_t bytes = 0;  // of the whole tensor; with all_to_all and send_recv of a rank's buffer
  double seconds = 0;      // of the out-of-place run
};

struct NcclRun {
  Collective collective = Collective::all_reduce;
  int ranks = 0;
  int nodes = 1;
  std::string device;             // "NVIDIA H100 80GB HBM3"; empty when it is not printed
  std::string version;            // of NCCL or of the tests, "2.17.9"; empty when it is not printed
  std::vector<NcclPoint> points;  // by bytes, each once
};

// Before version 2.17 the output did not say which collective ran. Then `name` must: a file name
// with the collective in it; else it may be empty. `ranks` is for outputs that do not say how many
// there were; 0 takes the printed number. Throws ConfigError (bad_file), which names the line.
[[nodiscard]] NcclRun parse_nccl_tests(const std::string& text, const std::string& where,
                                       const std::string& name, int ranks);

// The bytes that each rank sends, over NcclPoint::bytes. The column busbw counts them.
[[nodiscard]] double wire_share(Collective, int ranks);

// The CSV that docs/FORMATS.md describes, ordered by collective, ranks and bytes. Empty without
// runs.
[[nodiscard]] std::string collective_csv(const std::vector<NcclRun>&, const std::string& source);

// Fits t = latency + wire / (efficiency bandwidth) (1 + sqrt(slow_start / bytes)) to the times. The
// latency comes from the small sizes, the rest from the least squared relative error.
[[nodiscard]] CollectiveCurve fit_collective(const NcclRun&, BytesPerSecond bandwidth);

}  // namespace pleat::interop
