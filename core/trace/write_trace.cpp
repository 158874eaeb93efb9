// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Writes a trace as Chrome trace events, one line an event: complete events (ph X) with ts and dur
// in microseconds, a process per rank, a thread per stream or track, our fields in args; flows
// (s, t, f), memory counters (C), names (M); and what the run was in a top-level object "pleat".
// Perfetto ignores what it does not know.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/diagnostics.hpp"
#include "core/trace/trace.hpp"

namespace pleat {
namespace {

constexpr int kTracks = static_cast<int>(kStreams);

using Buffer = fmt::basic_memory_buffer<char, 65536>;

bool is_plain(const std::string& text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

void put(Buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void put_quoted(Buffer& out, const std::string& text) {
  if (is_plain(text)) {
    out.push_back('"');
    put(out, text);
    out.push_back('"');
    return;
  }
  using nlohmann::json;
  put(out, json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

// Shortest digits that read back the same.
void put_number(Buffer& out, double value) {
  PLEAT_ASSERT(std::isfinite(value));
  fmt::format_to(fmt::appender(out), FMT_COMPILE("{}"), value);
}

const char* name_of(Stream stream) {
  switch (stream) {
    case Stream::compute:
      return "compute";
    case Stream::comm:
      return "comm";
    case Stream::copy:
      return "copy";
  }
  return "?";
}

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "fwd";
    case Pass::backward:
      return "bwd";
  }
  return "?";
}

void put_name(Buffer& out, const char* what, TracePlace at, const std::string& value) {
  fmt::format_to(fmt::appender(out),
                 FMT_COMPILE(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":)"), what,
                 at.rank, at.track);
  put_quoted(out, value);
  put(out, "}},\n");
}

// Tracks come in the order of their numbers once they have a sort index.
void put_sort_index(Buffer& out, TracePlace at, int index) {
  fmt::format_to(
      fmt::appender(out),
      FMT_COMPILE(
          R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)"
          R"("args":{{"sort_index":{}}}}},)"),
      at.rank, at.track, index);
  out.push_back('\n');
}

void put_names(Buffer& out, const Trace& trace) {
  std::set<int> ranks;
  const bool copies =
      std::ranges::any_of(trace.spans, [](const Span& s) { return s.stream == Stream::copy; });
  for (const Span& s : trace.spans) ranks.insert(s.rank);
  for (const TraceSlice& s : trace.slices) ranks.insert(s.place.rank);
  for (const int rank : ranks) {
    const auto named = trace.rank_names.find(rank);
    put_name(out, "process_name", {rank, 0},
             named == trace.rank_names.end() ? fmt::format("rank {}", rank) : named->second);
    for (const Stream stream : {Stream::compute, Stream::comm, Stream::copy}) {
      if (stream == Stream::copy && !copies) continue;
      put_name(out, "thread_name", {rank, static_cast<int>(stream)}, name_of(stream));
    }
  }
  for (const auto& [place, name] : trace.track_names) {
    put_name(out, "thread_name", place, name);
    put_sort_index(out, place, place.track - kTracks - 1);  // the first of them above the streams
  }
}

void put_times(Buffer& out, TracePlace at, double start_s, double duration_s) {
  fmt::format_to(fmt::appender(out), FMT_COMPILE(R"(,"pid":{},"tid":{},"ts":)"), at.rank, at.track);
  put_number(out, start_s * kMicro);
  put(out, R"(,"dur":)");
  put_number(out, duration_s * kMicro);
}

void put_span(Buffer& out, const Span& s) {
  put(out, R"({"ph":"X","name":)");
  put_quoted(out, s.key.op);
  put(out, R"(,"cat":)");
  put_quoted(out, s.category);
  put_times(out, {s.rank, s.track < 0 ? static_cast<int>(s.stream) : s.track}, s.start_s,
            s.duration_s);
  fmt::format_to(
      fmt::appender(out),
      FMT_COMPILE(
          R"(,"args":{{"stage":{},"microbatch":{},"chunk":{},"layer":{},"pass":"{}","op":)"),
      s.key.stage, s.key.microbatch, s.key.chunk, s.key.layer, name_of(s.key.pass));
  put_quoted(out, s.key.op);
  fmt::format_to(fmt::appender(out), FMT_COMPILE(R"(,"bytes":{}}}}},)"), s.bytes);
  out.push_back('\n');
}

void put_slice(Buffer& out, const TraceSlice& s) {
  put(out, R"({"ph":"X","name":)");
  put_quoted(out, s.name);
  put(out, R"(,"cat":"schedule")");
  put_times(out, s.place, s.start_s, s.duration_s);
  put(out, "},\n");
}

void put_flow(Buffer& out, const TraceFlow& flow, std::size_t id) {
  PLEAT_ASSERT(flow.points.size() >= 2);
  for (std::size_t i = 0; i < flow.points.size(); ++i) {
    const auto& [place, at_s] = flow.points[i];
    const bool last = i + 1 == flow.points.size();
    fmt::format_to(fmt::appender(out), FMT_COMPILE(R"({{"ph":"{}","id":{},"cat":"flow","name":)"),
                   i == 0 ? 's'
                   : last ? 'f'
                          : 't',
                   id);
    put_quoted(out, flow.name);
    if (last) put(out, R"(,"bp":"e")");  // bound to the slice around it, not the next one
    fmt::format_to(fmt::appender(out), FMT_COMPILE(R"(,"pid":{},"tid":{},"ts":)"), place.rank,
                   place.track);
    put_number(out, at_s * kMicro);
    put(out, "},\n");
  }
}

void put_counter(Buffer& out, const TraceCounter& c) {
  fmt::format_to(fmt::appender(out),
                 FMT_COMPILE(R"({{"ph":"C","name":"memory","pid":{},"tid":0,"ts":)"), c.rank);
  put_number(out, c.at_s * kMicro);
  fmt::format_to(fmt::appender(out), FMT_COMPILE(R"(,"args":{{"bytes":{}}}}},)"), c.bytes);
  out.push_back('\n');
}

}  // namespace

std::string to_text(const OpKey& key) {
  std::string text = fmt::format("s{}", key.stage);
  if (key.microbatch < 0) {
    text += "/step";
    if (key.chunk >= 0) text += fmt::format("/c{}", key.chunk);
    if (key.layer >= 0) text += fmt::format("/L{}", key.layer);
    if (key.pass == Pass::backward) text += "/bwd";
    return text + "/" + key.op;
  }
  return text + fmt::format("/c{}/m{}/L{}/{}/{}", key.chunk, key.microbatch, key.layer,
                            name_of(key.pass), key.op);
}

std::string write_trace(const Trace& trace) {
  Buffer out;
  put(out, "{\"displayTimeUnit\":\"ms\",\n\"pleat\":{\"schema_version\":1,\"kind\":");
  put_quoted(out, trace.kind);
  put(out, R"(,"model":)");
  put_quoted(out, trace.model);
  put(out, R"(,"cluster":)");
  put_quoted(out, trace.cluster);
  put(out, R"(,"plan":)");
  put_quoted(out, trace.plan);
  put(out, R"(,"step_s":)");
  put_number(out, trace.step_s);
  fmt::format_to(fmt::appender(out), R"(,"peak_bytes":{}}},)", trace.peak_bytes);
  put(out, "\n\"traceEvents\":[\n");
  const std::size_t empty = out.size();
  put_names(out, trace);
  for (const TraceSlice& s : trace.slices) put_slice(out, s);
  for (const Span& s : trace.spans) put_span(out, s);
  for (std::size_t i = 0; i < trace.flows.size(); ++i) put_flow(out, trace.flows[i], i);
  for (const TraceCounter& c : trace.memory) put_counter(out, c);
  if (out.size() > empty) {  // the comma after the last event
    out.resize(out.size() - 2);
    out.push_back('\n');
  }
  put(out, "]}\n");
  return fmt::to_string(out);
}

}  // namespace pleat
