// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The line formats of Megatron-LM's training.py and arguments.py.
#include "interop/megatron_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

std::string_view after_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

std::string_view trimmed(std::string_view text) {
  text = after_blanks(text);
  const std::size_t end = text.find_last_not_of(" \t\r");
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end + 1);
}

template <class Number>
std::optional<Number> number_at(std::string_view text) {
  text = after_blanks(text);
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// The number after `label` in a line.
std::optional<double> field(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at<double>(line.substr(at + label.size()));
}

// Python's format E writes NAN.
bool has_nan_loss(std::string_view line) {
  const std::size_t at = line.find("lm loss:");
  if (at == std::string_view::npos) return false;
  const std::string_view word = after_blanks(line.substr(at + 8)).substr(0, 3);
  return word == "NAN" || word == "nan" || word == "NaN";
}

// " iteration        5/      50 | … elapsed time per iteration (ms): 1234.5 | …"
std::optional<LogIteration> read_iteration(std::string_view line) {
  const std::size_t at = line.find("iteration ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 10);
  const auto number = number_at<std::int64_t>(rest);
  const std::size_t slash = rest.find('/');
  if (!number || *number < 0 || slash == std::string_view::npos || slash > 24) return std::nullopt;
  const auto elapsed = field(line, "elapsed time per iteration (ms):");
  if (!elapsed || *elapsed <= 0 || *elapsed > 1e9) return std::nullopt;
  LogIteration out{.iteration = *number,
                   .planned = number_at<std::int64_t>(rest.substr(slash + 1)).value_or(0),
                   .milliseconds = *elapsed,
                   .tflops_per_gpu = field(line, "throughput per GPU (TFLOP/s/GPU):"),
                   .loss = field(line, "lm loss:")};
  if (!out.loss && has_nan_loss(line)) out.loss = std::nan("");
  if (!out.tflops_per_gpu) out.tflops_per_gpu = field(line, "TFLOPs:");
  return out;
}

// "[Rank 0] (after 10 iterations) memory (MB) | allocated: … | max allocated: … | max reserved: …"
void read_memory(std::string_view line, std::map<int, LogMemory>& memory) {
  const std::size_t at = line.find("[Rank ");
  const std::size_t unit = line.find("memory (");
  if (at == std::string_view::npos || unit == std::string_view::npos) return;
  const auto rank = number_at<int>(line.substr(at + 6));
  const auto allocated = field(line, "max allocated:");
  if (!rank || *rank < 0 || !allocated) return;
  const bool giga = line.substr(unit + 8, 2) == "GB";
  const double bytes = giga ? 1024.0 * 1024 * 1024 : 1024.0 * 1024;  // Megatron divides by 2^20
  const double reserved = field(line, "max reserved:").value_or(0);
  if (!(*allocated >= 0 && *allocated < 1e9 && reserved >= 0 && reserved < 1e9)) return;
  LogMemory& m = memory[*rank];
  m.max_allocated = std::max(m.max_allocated, static_cast<std::int64_t>(*allocated * bytes));
  m.max_reserved = std::max(m.max_reserved, static_cast<std::int64_t>(reserved * bytes));
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// "  tensor_model_parallel_size ...................... 4"; long names have fewer dots.
void read_argument(std::string_view line, Arguments& arguments) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string_view::npos) return;
  const std::string_view before = trimmed(line.substr(0, dots));
  const std::size_t blank = before.find_last_of(" \t:");
  const std::string_view name = blank == std::string_view::npos ? before : before.substr(blank + 1);
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (!is_name(name) || end == std::string_view::npos || line[end] != ' ') return;
  arguments[std::string(name)] = python_values(std::string(trimmed(line.substr(end))));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

MegatronLog parse_megatron_log(const std::string& text) {
  MegatronLog log;
  std::map<std::int64_t, LogIteration> iterations;
  bool in_arguments = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.find("end of arguments") != std::string_view::npos)
      in_arguments = false;
    else if (line.find("- arguments -") != std::string_view::npos)
      in_arguments = true;
    else if (in_arguments)
      read_argument(line, log.arguments);
    else if (const auto iteration = read_iteration(line))
      iterations.emplace(iteration->iteration, *iteration);  // the first of several ranks
    else
      read_memory(line, log.memory);
  }
  for (const auto& [number, iteration] : iterations) log.iterations.push_back(iteration);
  return log;
}

LogTimes log_times(const MegatronLog& log, std::size_t warmup, const std::string& where) {
  if (log.iterations.size() <= warmup) {
    throw_config_error(ExitCode::bad_file, where, "",
                       fmt::format("has {} iteration lines, {} are dropped as warm-up",
                                   log.iterations.size(), warmup),
                       log.iterations.empty()
                           ? "lines of the training with 'elapsed time per iteration (ms)' are read"
                           : "--warmup 0 keeps all of them");
  }
  std::vector<double> seconds, tflops;
  for (std::size_t i = warmup; i < log.iterations.size(); ++i) {
    seconds.push_back(log.iterations[i].milliseconds / 1000);
    if (log.iterations[i].tflops_per_gpu) tflops.push_back(*log.iterations[i].tflops_per_gpu);
  }
  LogTimes times{warmup,
                 seconds.size(),
                 median(seconds),
                 *std::min_element(seconds.begin(), seconds.end()),
                 *std::max_element(seconds.begin(), seconds.end()),
                 std::nullopt};
  if (!tflops.empty()) times.median_tflops = median(tflops);
  return times;
}

}  // namespace pleat::interop
