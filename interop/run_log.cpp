// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/run_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "interop/megatron_log.hpp"

namespace pleat::interop {
namespace {

constexpr double kMaxSeconds = 1e6;  // of a step; what takes longer is no step

using Steps = std::map<std::int64_t, RunStep>;

bool is_plausible(const RunStep& s) {
  return s.number >= 0 && s.seconds > 0 && s.seconds <= kMaxSeconds;
}

std::optional<double> number_after_label(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + label.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  double value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> number_of(const JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const double* number = value->as_double()) return *number;
  if (const std::int64_t* number = value->as_integer()) return static_cast<double>(*number);
  return std::nullopt;
}

// {"step": 7, "loss": 3.2, "seconds": 0.41, …}; a loss of null is NaN. What is no JSON is skipped.
std::optional<RunStep> of_json(std::string_view line) {
  if (line.empty() || line.front() != '{') return std::nullopt;
  JsonValue json;
  try {
    json = parse_json(std::string(line), "log");
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  const JsonValue* const step = json.find("step");
  const JsonValue* const loss = json.find("loss");
  const std::int64_t* const number = step == nullptr ? nullptr : step->as_integer();
  const auto seconds = number_of(json.find("seconds"));
  if (number == nullptr || !seconds) return std::nullopt;
  RunStep s{*number, *seconds, std::nullopt};
  if (loss != nullptr) s.loss = number_of(loss).value_or(std::nan(""));
  return s;
}

// "step    7   loss 3.2145   0.412 s   …", also behind the label of a launcher.
std::optional<RunStep> of_pleat(std::string_view line) {
  const std::size_t at = line.find("step ");
  const std::size_t loss = line.find("   loss ");
  if (at == std::string_view::npos || loss == std::string_view::npos || loss < at) {
    return std::nullopt;
  }
  const auto number = number_after_label(line, "step ");
  std::string_view rest = line.substr(loss + 8);
  const std::size_t blank = rest.find("   ");
  if (!number || !(*number < 1e12) || blank == std::string_view::npos) return std::nullopt;
  const auto seconds = number_after_label(rest.substr(blank), "   ");
  if (!seconds) return std::nullopt;
  return RunStep{static_cast<std::int64_t>(*number), *seconds,
                 number_after_label(line, "   loss ")};
}

// "    forward-backward ....................: (1234.50, 1250.10)", milliseconds.
std::optional<RunTimer> timer_of(std::string_view line) {
  const std::size_t dots = line.find(" ..");
  const std::size_t open = line.find(": (");
  if (dots == std::string_view::npos || open == std::string_view::npos || open < dots) {
    return std::nullopt;
  }
  const std::size_t begin = line.find_last_of(" \t:", dots - 1);
  const std::size_t from = begin == std::string_view::npos ? 0 : begin + 1;
  const auto least = number_after_label(line, ": (");
  const std::size_t comma = line.find(',', open);
  if (!least || comma == std::string_view::npos || from >= dots) return std::nullopt;
  const auto most = number_after_label(line.substr(comma), ",");
  if (!most || !(*least >= 0) || !(*most >= *least) || *most > kMaxSeconds * 1000) {
    return std::nullopt;
  }
  return RunTimer{std::string(line.substr(from, dots - from)), *least / 1000, *most / 1000};
}

void read_megatron(const std::string& text, RunLog& log, Steps& steps) {
  const MegatronLog parsed = parse_megatron_log(text);
  if (parsed.iterations.empty() && parsed.arguments.empty()) return;
  log.writer = "Megatron-LM";
  log.arguments = parsed.arguments;
  for (const LogIteration& i : parsed.iterations) {
    steps[i.iteration] = {i.iteration, i.milliseconds / 1000, i.loss};
    log.planned_steps = std::max(log.planned_steps, i.planned);
  }
}

}  // namespace

RunLog read_run_log(const std::string& all) {
  const std::string text = all.substr(0, all.rfind('\n') + 1);
  RunLog log;
  Steps steps;
  read_megatron(text, log, steps);
  std::map<std::string, std::size_t> timers;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (log.writer == "Megatron-LM") {
      const auto timer = timer_of(line);
      if (!timer) continue;
      const auto [at, is_new] = timers.try_emplace(timer->name, log.timers.size());
      if (is_new) log.timers.emplace_back();
      log.timers[at->second] = *timer;
      continue;
    }
    auto step = of_json(line);
    if (!step) step = of_pleat(line);
    if (step && is_plausible(*step)) {
      log.writer = "pleat train";
      steps[step->number] = *step;
    }
  }
  for (const auto& [number, step] : steps) log.steps.push_back(step);
  return log;
}

}  // namespace pleat::interop
