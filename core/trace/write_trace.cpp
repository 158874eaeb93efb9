// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Writes a trace as Chrome trace events, one line an event: complete events (ph X) with ts and dur
// in microseconds, a process per rank, a thread per stream, our fields in args; and what the run
// was in a top-level object "pleat". Perfetto ignores what it does not know.
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

constexpr double kMicro = 1e6;

std::string quoted(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Shortest digits that read back the same.
std::string number(double value) {
  PLEAT_ASSERT(std::isfinite(value));
  return fmt::format("{}", value);
}

const char* name_of(Stream stream) {
  switch (stream) {
    case Stream::compute: return "compute";
    case Stream::comm: return "comm";
    case Stream::copy: return "copy";
  }
  return "?";
}

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "fwd";
    case Pass::backward: return "bwd";
  }
  return "?";
}

void append_names(std::string& out, const Trace& trace) {
  std::set<int> ranks;
  const bool copies = std::ranges::any_of(
      trace.spans, [](const Span& s) { return s.stream == Stream::copy; });
  for (const Span& s : trace.spans) ranks.insert(s.rank);
  const auto name = [&out](const char* what, int rank, int thread, const std::string& value) {
    out += fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}},)", what,
                       rank, thread, value);
    out += '\n';
  };
  for (const int rank : ranks) {
    name("process_name", rank, 0, fmt::format("rank {}", rank));
    for (const Stream stream : {Stream::compute, Stream::comm, Stream::copy}) {
      if (stream == Stream::copy && !copies) continue;
      name("thread_name", rank, static_cast<int>(stream), name_of(stream));
    }
  }
}

void append_span(std::string& out, const Span& s) {
  auto end = std::back_inserter(out);
  fmt::format_to(end, R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"dur":{},)",
                 quoted(s.key.op), quoted(s.category), s.rank, static_cast<int>(s.stream),
                 number(s.start_s * kMicro), number(s.duration_s * kMicro));
  fmt::format_to(end, R"("args":{{"stage":{},"microbatch":{},"chunk":{},"layer":{},)", s.key.stage,
                 s.key.microbatch, s.key.chunk, s.key.layer);
  fmt::format_to(end, R"("pass":"{}","op":{},"bytes":{}}}}},)", name_of(s.key.pass),
                 quoted(s.key.op), s.bytes);
  out += '\n';
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
  std::string out = fmt::format(
      R"({{"displayTimeUnit":"ms",)" "\n"
      R"("pleat":{{"schema_version":1,"kind":{},"model":{},"cluster":{},"plan":{},"step_s":{},)"
      R"("peak_bytes":{}}},)" "\n"
      R"("traceEvents":[)" "\n",
      quoted(trace.kind), quoted(trace.model), quoted(trace.cluster), quoted(trace.plan),
      number(trace.step_s), trace.peak_bytes);
  const std::size_t empty = out.size();
  append_names(out, trace);
  for (const Span& s : trace.spans) append_span(out, s);
  if (out.size() > empty) out.erase(out.size() - 2, 1);  // the comma after the last event
  return out + "]}\n";
}

}  // namespace pleat
