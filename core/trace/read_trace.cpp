// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads a trace that write_trace wrote. Traces are large, so this reader knows the field of a
// problem but not its line; syntax errors carry line and column.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/diagnostics.hpp"
#include "core/trace/trace.hpp"

namespace pleat {
namespace {

using nlohmann::json;

constexpr const char* kDrawing = "schedule";  // category of slices that are no operation

class TraceReader {
 public:
  explicit TraceReader(const std::string& file_name) : file_name_(file_name) {}

  [[nodiscard]] Trace read(const json& root) const {
    Trace trace;
    const json& run = object(root, "", "pleat");
    if (integer(run, "pleat", "schema_version", 0, kMax) != 1) {
      fail("pleat.schema_version", "this version of Pleat reads 1");
    }
    trace.kind = text(run, "pleat", "kind");
    if (trace.kind != "predicted" && trace.kind != "measured") {
      fail("pleat.kind", "must be predicted or measured");
    }
    trace.model = text(run, "pleat", "model");
    trace.cluster = text(run, "pleat", "cluster");
    trace.plan = text(run, "pleat", "plan");
    trace.step_s = number(run, "pleat", "step_s");
    trace.peak_bytes = integer(run, "pleat", "peak_bytes", 0, kMax);
    const json& events = field(root, "", "traceEvents");
    if (!events.is_array()) fail("traceEvents", "must be an array");
    trace.spans.reserve(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::string path = fmt::format("traceEvents[{}]", i);
      if (text(events[i], path, "ph") != "X") continue;
      const auto category = events[i].find("cat");
      if (category != events[i].end() && *category == kDrawing) continue;
      trace.spans.push_back(span(events[i], path));
    }
    return trace;
  }

  [[noreturn]] void fail(const std::string& path, const std::string& message) const {
    throw_config_error(ExitCode::bad_file, file_name_, path, message);
  }

 private:
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kMaxIndex = std::numeric_limits<int>::max();
  static constexpr std::int64_t kMaxTrack = 4095;

  static std::string join(const std::string& path, const char* key) {
    return path.empty() ? key : path + "." + key;
  }
  const json& field(const json& object, const std::string& path, const char* key) const {
    if (!object.is_object()) fail(path, "must be an object");
    const auto found = object.find(key);
    if (found == object.end()) fail(join(path, key), "missing");
    return *found;
  }
  const json& object(const json& parent, const std::string& path, const char* key) const {
    const json& value = field(parent, path, key);
    if (!value.is_object()) fail(join(path, key), "must be an object");
    return value;
  }
  std::string text(const json& parent, const std::string& path, const char* key) const {
    const json& value = field(parent, path, key);
    if (!value.is_string()) fail(join(path, key), "must be a string");
    return value.get<std::string>();
  }
  // Times: finite, not negative.
  double number(const json& parent, const std::string& path, const char* key) const {
    const json& value = field(parent, path, key);
    if (!value.is_number()) fail(join(path, key), "must be a number");
    const auto x = value.get<double>();
    if (!std::isfinite(x) || x < 0) fail(join(path, key), "must be at least 0");
    return x;
  }
  std::int64_t integer(const json& parent, const std::string& path, const char* key,
                       std::int64_t min, std::int64_t max) const {
    const json& value = field(parent, path, key);
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() >
                                                             static_cast<std::uint64_t>(kMax);
    if (!value.is_number_integer() || too_large || value.get<std::int64_t>() < min ||
        value.get<std::int64_t>() > max) {
      fail(join(path, key), fmt::format("must be an integer from {} to {}", min, max));
    }
    return value.get<std::int64_t>();
  }
  int index(const json& parent, const std::string& path, const char* key, int min) const {
    return static_cast<int>(integer(parent, path, key, min, kMaxIndex));
  }

  Span span(const json& event, const std::string& path) const {
    const json& args = object(event, path, "args");
    const std::string in_args = path + ".args";
    Span s;
    s.key.stage = index(args, in_args, "stage", 0);
    s.key.microbatch = index(args, in_args, "microbatch", -1);
    s.key.chunk = index(args, in_args, "chunk", -1);
    s.key.layer = index(args, in_args, "layer", -1);
    const std::string pass = text(args, in_args, "pass");
    if (pass != "fwd" && pass != "bwd") fail(in_args + ".pass", "must be fwd or bwd");
    s.key.pass = pass == "fwd" ? Pass::forward : Pass::backward;
    s.key.op = text(args, in_args, "op");
    s.rank = index(event, path, "pid", 0);
    const std::int64_t track = integer(event, path, "tid", 0, kMaxTrack);
    const bool on_stream = track < static_cast<std::int64_t>(kStreams);
    s.stream = on_stream ? static_cast<Stream>(track) : Stream::comm;
    if (!on_stream) s.track = static_cast<int>(track);
    s.start_s = number(event, path, "ts") / kMicro;
    s.duration_s = number(event, path, "dur") / kMicro;
    s.category = text(event, path, "cat");
    s.bytes = integer(args, in_args, "bytes", 0, kMax);
    return s;
  }

  const std::string& file_name_;
};

}  // namespace

Trace read_trace(const std::string& text, const std::string& file_name) {
  const TraceReader reader(file_name);
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& e) {
    const std::string what = e.what();  // "[json.exception.parse_error.101] parse error at line …"
    const std::size_t end = what.find("] ");
    reader.fail("", end == std::string::npos ? what : what.substr(end + 2));
  }
  return reader.read(root);
}

}  // namespace pleat
