// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Text output of NVIDIA's nccl-tests (and AMD's rccl-tests): which collective, among how many ranks
// on how many nodes, and its times by size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/spec/profile.hpp"

namespace pleat::interop {

struct NcclPoint {
  std::int64_t bytes = 0;  // of the whole tensor; of one rank's buffer for all_to_all, send_recv
  double seconds = 0;      // out of place
};

struct NcclRun {
  Collective collective = Collective::all_reduce;
  int ranks = 0;
  int nodes = 1;
  std::string device;             // "NVIDIA H100 80GB HBM3"; empty when not printed
  std::string version;            // "2.17.9", of NCCL or of the tests, as printed; empty
  std::vector<NcclPoint> points;  // by bytes, each once
};

// `name` is the collective where the output does not say it (before version 2.17 it did not): a
// file name that has it, or empty. `ranks` likewise, 0: as printed. ConfigError (bad_file) with the
// line.
[[nodiscard]] NcclRun parse_nccl_tests(const std::string& text, const std::string& where,
                                       const std::string& name, int ranks);

// Wire bytes over the bytes above: what busbw counts.
[[nodiscard]] double wire_share(Collective, int ranks);

// The CSV of docs/FORMATS.md, by collective, ranks and bytes; empty without runs.
[[nodiscard]] std::string collective_csv(const std::vector<NcclRun>&, const std::string& source);

// t = latency + wire / (efficiency bandwidth) (1 + sqrt(slow_start / bytes)): latency from the
// small sizes, the rest by the least squared relative error.
[[nodiscard]] CollectiveCurve fit_collective(const NcclRun&, BytesPerSecond bandwidth);

}  // namespace pleat::interop
