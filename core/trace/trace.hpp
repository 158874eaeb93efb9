// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One schema for predicted and measured runs: spans keyed by the operation they belong to.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/program/layer_program.hpp"

namespace pleat {

inline constexpr double kMicro = 1e6;  // the file counts microseconds

// Structural key of an operation: the same in a predicted and a measured trace.
struct OpKey {
  int stage = 0;
  int microbatch = -1;  // -1: step level
  int chunk = -1;
  int layer = -1;
  Pass pass = Pass::forward;
  std::string op;       // name in its program
  auto operator<=>(const OpKey&) const = default;
};
[[nodiscard]] std::string to_text(const OpKey&);  // "s0/c0/m3/L7/fwd/fc1"

struct Span {
  OpKey key;
  int rank = 0;
  Stream stream = Stream::compute;
  double start_s = 0, duration_s = 0;
  std::string category;  // name of the Module
  std::int64_t bytes = 0;
  int track = -1;  // where it is drawn; -1: with its stream
};

// What a viewer shows beside the operations; `compare` passes it over. A place is a rank and a
// track of it: tracks 0 to 2 are the streams.
struct TracePlace {
  int rank = 0, track = 0;
  auto operator<=>(const TracePlace&) const = default;
};
struct TraceSlice {  // slices of one track are nested or apart
  TracePlace place;
  double start_s = 0, duration_s = 0;
  std::string name;
};
// An arrow through the slices that cover these moments; two points at least, times never fall.
struct TraceFlow {
  std::string name;
  std::vector<std::pair<TracePlace, double>> points;
};
struct TraceCounter {
  int rank = 0;
  double at_s = 0;
  std::int64_t bytes = 0;
};

struct Trace {
  std::string kind;      // "predicted" or "measured"
  std::string model, cluster, plan;  // plan: its summary
  double step_s = 0;
  std::int64_t peak_bytes = 0;
  std::vector<Span> spans;
  // Drawing only.
  std::vector<TraceSlice> slices;
  std::vector<TraceFlow> flows;
  std::vector<TraceCounter> memory;            // live bytes of a rank's device, in time order
  std::map<int, std::string> rank_names;       // else "rank 4"
  std::map<TracePlace, std::string> track_names;  // of tracks beside the streams
};

// Chrome trace events with our fields in `args` (opens in Perfetto); reads back the spans it wrote.
[[nodiscard]] std::string write_trace(const Trace&);
[[nodiscard]] Trace read_trace(const std::string& text, const std::string& file_name);

}  // namespace pleat
