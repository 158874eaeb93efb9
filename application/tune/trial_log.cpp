// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include "application/exchange/watch.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/median.hpp"
#include "interop/megatron_log.hpp"
#include "interop/quoting.hpp"
#include "interop/run_log.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMostTrialLog = std::size_t{1} << 28;
constexpr int kTrialWarmup = 3;
constexpr std::size_t kLongestWords = 200;

// PyTorch, CUDA, NCCL, `pleat train` and its allocator, C++, the kernel's log, Slurm.
constexpr std::array<std::string_view, 9> kMemoryWords{
    "CUDA out of memory",   "OutOfMemoryError",       "CUDA error: out of memory",
    "error: out of memory", "out of memory in 'new'", "std::bad_alloc",
    "oom_kill event",       "oom-kill event",         "Out Of Memory"};

bool has(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// "peak memory, recorded routing   1.21 GiB   1.30 GiB   +7.4 %": the second number.
std::int64_t pleat_peak(std::string_view text) {
  constexpr std::string_view kRow = "peak memory, recorded routing";
  const std::size_t at = text.rfind(kRow);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = text.substr(at + kRow.size());
  rest = rest.substr(0, rest.find('\n'));
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    words.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(words.back().size());
  }
  if (words.size() < 4) return 0;
  double value = 0;
  std::from_chars(words[2].data(), words[2].data() + words[2].size(), value);
  double unit = 1;
  for (const std::string_view name : {"B", "KiB", "MiB", "GiB", "TiB"}) {
    if (words[3] == name) return static_cast<std::int64_t>(value * unit);
    unit *= 1024;
  }
  return 0;
}

// The last line that speaks of an error, else the last one.
std::string last_words_of(std::string_view text) {
  std::string_view last, error;
  for_each_line(text, [&](std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    // A step says nothing of the end.
    if (has(line, "   loss ") || has(line, "elapsed time per iteration")) return;
    last = line;
    for (const std::string_view word : {"rror:", "RROR", "signal ", "Killed", "Traceback"})
      if (has(line, word)) error = line;
  });
  const std::string words = interop::one_line(std::string(error.empty() ? last : error));
  return words.size() > kLongestWords ? words.substr(0, kLongestWords) + " …" : words;
}

// The head of `pleat train`: "tiny-moe on localhost, TP 1 …".
void require_plan_of_head(std::string_view text, const PlanDocument& d, const std::string& log,
                          const std::string& plan_file) {
  if (!has(text, "\npredicted step ") && !has(text, ": predicted step ")) return;
  if (has(text, ", " + summary(d.plan))) return;
  throw_config_error(ExitCode::verification, log, "",
                     "is the log of another plan than " + plan_file,
                     "the script has to run the plan in $PLEAT_TRIAL_PLAN");
}

}  // namespace

int trial_warmup(int steps) { return std::clamp(steps - 1, 0, kTrialWarmup); }

TrialReading read_trial_log(const std::string& log_file, const PlanDocument& d,
                            const std::string& plan_file) {
  TrialReading r;
  std::error_code ignored;
  if (!std::filesystem::exists(log_file, ignored)) return r;
  const std::string text = read_text_file(log_file, kMostTrialLog);
  const interop::RunLog log = interop::read_run_log(text);
  if (log.writer == "Megatron-LM") {
    require_same_run(log, d, log_file, plan_file);
    for (const auto& [rank, memory] : interop::parse_megatron_log(text).memory)
      r.bytes = std::max(r.bytes, memory.max_allocated);
  } else {
    require_plan_of_head(text, d, log_file, plan_file);
    r.bytes = pleat_peak(text);
  }
  r.steps = static_cast<int>(log.steps.size());
  std::vector<double> seconds;
  for (int i = trial_warmup(r.steps); i < r.steps; ++i)
    seconds.push_back(log.steps[static_cast<std::size_t>(i)].seconds);
  if (!seconds.empty()) {
    r.fastest = *std::ranges::min_element(seconds);
    r.seconds = median(std::move(seconds));
  }
  r.out_of_memory =
      std::ranges::any_of(kMemoryWords, [&](std::string_view words) { return has(text, words); });
  r.last_words = last_words_of(text);
  return r;
}

}  // namespace pleat
