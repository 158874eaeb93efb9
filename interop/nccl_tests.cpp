// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows: size, count, type, then columns that differ by version (redop, root), then time, algbw,
// busbw and errors, out of place and in place. The header names the columns; without one the last
// eight are meant.
#include "interop/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/spec/profile.hpp"

namespace pleat::interop {
namespace {

// The words of nccl-tests, where they are not ours.
constexpr std::pair<const char*, Collective> kTheirWords[] = {
    {"alltoall", Collective::all_to_all}, {"sendrecv", Collective::send_recv}};

std::optional<Collective> collective_in(const std::string& text) {
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  for (std::size_t i = 0; i < kCollectives; ++i)
    if (says(kCollectiveNames[i])) return static_cast<Collective>(i);
  for (const auto& [word, collective] : kTheirWords)
    if (says(word)) return collective;
  return std::nullopt;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

template <class Number>
std::optional<Number> parse(const std::string& word) {
  Number value{};
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(std::string where, int ranks) : where_(std::move(where)), ranks_(ranks) {}

  void line(const std::string& text) {
    ++number_;
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return;
    // A launcher's prefix ("0: ", "[1,0]<stdout>:") ends where the line begins.
    std::size_t first = 0;
    while (first < words.size() && first < 2 && words[first].front() != '#' &&
           words[first].back() == ':')
      ++first;
    if (first == words.size()) return;
    const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(first),
                                        words.end());
    if (rest.front().front() == '#')
      remark(text, rest);
    else if (parse<std::int64_t>(rest.front()) && rest.size() >= 7)
      row(rest);
  }

  NcclRun finish(const std::string& name) {
    if (!found_) found_ = collective_in(name);
    if (!found_) {
      fail("does not say which collective it measured",
           "--collective all_reduce (or all_gather, reduce_scatter, all_to_all, send_recv)");
    }
    if (ranks_ == 0) ranks_ = static_cast<int>(listed_);
    if (ranks_ < 2) fail(fmt::format("lists {} ranks", ranks_), "--ranks 8");
    if (points_.size() < 2)
      fail(fmt::format("has {} rows of times", points_.size()), "two or more");
    NcclRun run{*found_, ranks_,   std::max(1, static_cast<int>(hosts_.size())),
                device_, version_, {}};
    for (const auto& [bytes, seconds] : points_) run.points.push_back({bytes, seconds});
    return run;
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
    throw_config_error(ExitCode::bad_file, where_, "", message, hint);
  }
  [[noreturn]] void fail_line(const std::string& message, const std::string& hint) const {
    throw_config_error(ExitCode::bad_file, fmt::format("{}:{}", where_, number_), "", message,
                       hint);
  }

  // "#  Rank  0 Group  0 Pid 123 on   host device  0 [0x1b] NVIDIA H100 80GB HBM3"
  void rank(const std::vector<std::string>& words) {
    ++listed_;
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on == words.end() || on + 1 == words.end()) return;
    hosts_.insert(*(on + 1));
    const auto bus =
        std::find_if(on, words.end(), [](const std::string& w) { return w[0] == '['; });
    if (bus == words.end() || !device_.empty()) return;
    for (auto w = bus + 1; w != words.end(); ++w) device_ += (device_.empty() ? "" : " ") + *w;
  }

  void remark(const std::string& text, const std::vector<std::string>& words) {
    if (text.find("Collective test starting") != std::string::npos) found_ = collective_in(text);
    const bool lists_rank = words.size() > 2 && words[1] == "Rank" && parse<int>(words[2]);
    if (lists_rank) rank(words);
    const std::size_t version = text.find("tests version ");
    if (version != std::string::npos) {
      const std::vector<std::string> told = words_of(text.substr(version + 14));
      if (!told.empty()) version_ = told.front();
    }
    // "#  size  count  type  redop  root  time  algbw …": the columns of the rows below.
    std::vector<std::string> columns = words;
    if (columns.front() == "#")
      columns.erase(columns.begin());
    else
      columns.front().erase(0, 1);
    const auto time = std::find(columns.begin(), columns.end(), "time");
    if (!columns.empty() && columns.front() == "size" && time != columns.end())
      time_column_ = static_cast<std::size_t>(time - columns.begin());
  }

  void row(const std::vector<std::string>& words) {
    std::size_t column = time_column_;
    if (column == 0) column = words.size() >= 11 ? words.size() - 8 : words.size() - 4;
    if (column + 1 >= words.size()) fail_line("has too few columns", "the whole line");
    const std::int64_t bytes = *parse<std::int64_t>(words.front());
    const auto us = parse<double>(words[column]);
    const auto rate = parse<double>(words[column + 1]);  // 10^9 bytes a second
    if (!us || !rate || !(*us > 0) || *us > 1e12 || bytes < 0)
      fail_line(fmt::format("'{}' is no time in microseconds", words[column]), "");
    if (bytes == 0) return;
    const double told = static_cast<double>(bytes) / (*us * 1e-6) / 1e9;
    if (*rate > 1 && std::abs(told / *rate - 1) > 0.05) {
      fail_line(fmt::format("{} bytes in {} us are {:.2f} GB/s, not {}", bytes, *us, told, *rate),
                "columns of another layout?");
    }
    if (column + 3 < words.size()) {
      const auto wrong = parse<double>(words[column + 3]);
      const bool counts = words.size() >= column + 4 && wrong && *wrong >= 1;
      if (counts) fail_line(fmt::format("{} wrong results", words[column + 3]), "a sound run");
    }
    points_.emplace(bytes, *us * 1e-6);  // the first of several cycles
  }

  std::string where_;
  int number_ = 0, ranks_ = 0;
  std::size_t listed_ = 0, time_column_ = 0;
  std::optional<Collective> found_;
  std::set<std::string> hosts_;
  std::string device_, version_;
  std::map<std::int64_t, double> points_;
};

}  // namespace

NcclRun parse_nccl_tests(const std::string& text, const std::string& where, const std::string& name,
                         int ranks) {
  Reader reader(where, ranks);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) reader.line(line);
  return reader.finish(name);
}

double wire_share(Collective c, int ranks) {
  const double n = ranks;
  switch (c) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    case Collective::send_recv:
      return 1;
  }
  return 1;
}

std::string collective_csv(const std::vector<NcclRun>& runs, const std::string& source) {
  std::map<std::pair<std::string, int>, std::map<std::int64_t, double>> table;
  for (const NcclRun& run : runs) {
    for (const NcclPoint& p : run.points)
      table[{name_of(run.collective), run.ranks}].emplace(p.bytes, p.seconds);
  }
  if (table.empty()) return {};
  std::string text = "# " + source + "\ncollective,ranks,bytes,us\n";
  for (const auto& [key, times] : table)
    for (const auto& [bytes, seconds] : times)
      text += fmt::format("{},{},{},{}\n", key.first, key.second, bytes, seconds * 1e6);
  return text;
}

CollectiveCurve fit_collective(const NcclRun& run, BytesPerSecond bandwidth) {
  const double wire = wire_share(run.collective, run.ranks) / bandwidth.base();
  double latency = run.points.front().seconds;
  for (const NcclPoint& p : run.points) latency = std::min(latency, p.seconds);
  // For a slow start S0 the best efficiency is linear; S0 itself is searched on a grid.
  double best_error = -1, best_inverse = 1, best_start = 0;
  for (int step = 0; step <= 160; ++step) {
    const double start = step == 0 ? 0 : std::pow(10.0, 1 + 0.06 * step);
    double xx = 0, xy = 0;
    for (const NcclPoint& p : run.points) {
      const double bytes = static_cast<double>(p.bytes);
      const double x = bytes * wire * (1 + std::sqrt(start / bytes)) / p.seconds;
      const double y = (p.seconds - latency) / p.seconds;
      xx += x * x;
      xy += x * y;
    }
    const double inverse = xy / xx;
    double error = 0;
    for (const NcclPoint& p : run.points) {
      const double bytes = static_cast<double>(p.bytes);
      const double told = latency + inverse * bytes * wire * (1 + std::sqrt(start / bytes));
      error += (told / p.seconds - 1) * (told / p.seconds - 1);
    }
    if (inverse > 0 && (best_error < 0 || error < best_error)) {
      best_error = error;
      best_inverse = inverse;
      best_start = start;
    }
  }
  CollectiveCurve curve;
  curve.latency = Seconds(latency);
  curve.efficiency = std::min(1.0, 1 / best_inverse);  // the format's limit
  curve.slow_start = Bytes(best_start);
  curve.source = SourceClass::fitted;
  return curve;
}

}  // namespace pleat::interop
