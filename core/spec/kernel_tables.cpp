// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured tables: reading them from CSV, and looking values up.
#include "core/spec/kernel_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/spec/platform_rates.hpp"
#include "core/spec/profile.hpp"

namespace pleat {
namespace {

// Between which nodes a value lies, and how far: clamped to the ends.
struct Place {
  std::size_t low = 0;
  double share = 0;  // of the upper node
  bool on_node = false;
};

Place place(const std::vector<double>& nodes, double x) {
  if (x <= nodes.front()) return {0, 0, x == nodes.front()};
  if (x >= nodes.back()) return {nodes.size() - 2, 1, x == nodes.back()};
  const auto after = std::upper_bound(nodes.begin(), nodes.end(), x);
  const auto low = static_cast<std::size_t>(after - nodes.begin()) - 1;
  const double share = (x - nodes[low]) / (nodes[low + 1] - nodes[low]);
  return {low, share, share == 0};
}

std::size_t nearest(const std::vector<double>& nodes, double x) {
  const Place p = place(nodes, x);
  return p.share > 0.5 ? p.low + 1 : p.low;
}

double offset_of_shape(const GemmTable& t, double log_m, double log_n, bool& exact) {
  if (t.shape.empty()) return 0;
  const std::size_t i = nearest(t.log_shape_m, log_m), j = nearest(t.log_shape_n, log_n);
  const double distance =
      std::max(std::abs(t.log_shape_m[i] - log_m), std::abs(t.log_shape_n[j] - log_n));
  exact = distance == 0;
  const double weight = std::max(0.0, 1.0 - distance / kShapeReach);
  return weight * static_cast<double>(t.shape[i * t.log_shape_n.size() + j]);
}

}  // namespace

Correction correction_at(const GemmTable& t, double m, double n, double k) {
  const double log_m = std::log(m), log_n = std::log(n);
  const Place pm = place(t.log_m, log_m), pn = place(t.log_n, log_n),
              pk = place(t.log_k, std::log(k));
  const std::size_t row = t.log_k.size(), plane = t.log_n.size() * row;
  const float* at = t.grid.data() + pm.low * plane + pn.low * row + pk.low;
  auto along_k = [&](const float* p) {
    return static_cast<double>(p[0]) * (1 - pk.share) + static_cast<double>(p[1]) * pk.share;
  };
  auto along_n = [&](const float* p) {
    return along_k(p) * (1 - pn.share) + along_k(p + row) * pn.share;
  };
  bool exact = false;
  Correction c;
  c.log = along_n(at) * (1 - pm.share) + along_n(at + plane) * pm.share +
          offset_of_shape(t, log_m, log_n, exact);
  if (exact && pk.on_node) c.source = SourceClass::measured;
  return c;
}

TableTime time_at(const CollectiveSeries& s, Bytes whole) {
  PLEAT_ASSERT(s.bytes.size() >= 2);
  const double x = whole.base();
  if (x > s.bytes.back()) {
    return {Seconds(s.seconds.back() * x / s.bytes.back()), SourceClass::interpolated};
  }
  const Place p = place(s.bytes, x);
  return {Seconds(s.seconds[p.low] * (1 - p.share) + s.seconds[p.low + 1] * p.share),
          p.on_node ? SourceClass::measured : SourceClass::interpolated};
}

const CollectiveSeries* nearest_series(const CollectiveTable& t, std::size_t collective,
                                       int ranks) {
  const CollectiveSeries* best = nullptr;
  for (const CollectiveSeries& s : t.series[collective]) {
    if (s.ranks <= ranks) best = &s;
  }
  return best;
}

const GemmLaw* GemmLaws::find(GemmMath math) const {
  auto law = [&](GemmMath m) {
    const GemmLaw& l = by_math[static_cast<std::size_t>(m)];
    return l.rate > FlopsPerSecond(0) ? &l : nullptr;
  };
  // From the arithmetic asked for to wider ones; block scales and mx scales stand for each other.
  static constexpr std::array<std::array<GemmMath, 4>, kGemmMaths> kInstead = {{
      {GemmMath::bf16, GemmMath::bf16, GemmMath::bf16, GemmMath::bf16},
      {GemmMath::fp8, GemmMath::bf16, GemmMath::bf16, GemmMath::bf16},
      {GemmMath::fp8_block, GemmMath::mxfp8, GemmMath::fp8, GemmMath::bf16},
      {GemmMath::mxfp8, GemmMath::fp8_block, GemmMath::fp8, GemmMath::bf16},
      {GemmMath::nvfp4, GemmMath::mxfp8, GemmMath::fp8, GemmMath::bf16},
  }};
  for (GemmMath m : kInstead[static_cast<std::size_t>(math)]) {
    if (const GemmLaw* found = law(m)) return found;
  }
  return nullptr;
}

// Reading measured tables. Lines that begin with # are remarks.

namespace {

constexpr double kThousandths = 1e-3;
// What a cell may be. The logarithm of a correction: a factor of 22,000 either way.
constexpr double kMaxCorrection = 10'000;  // thousandths
constexpr double kMaxNode = 1e12;          // rows, columns, ranks, bytes
constexpr double kMinTime = 1e-3, kMaxTime = 1e9;  // us

class Lines {
 public:
  Lines(const std::string& text, const std::string& file) : rest_(text), file_(file) {}

  // The cells of the next line that is no remark; empty at the end.
  std::vector<std::string_view> next() {
    while (!rest_.empty()) {
      ++number_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (line.empty() || line.front() == '#') continue;
      std::vector<std::string_view> cells;
      for (;;) {
        const std::size_t comma = line.find(',');
        cells.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return cells;
        line.remove_prefix(comma + 1);
      }
    }
    return {};
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw_config_error(ExitCode::bad_file, fmt::format("{}:{}", file_, number_), "", what,
                       "a table of a profile; write it anew with calibration/tables");
  }

  double number(std::string_view cell, double min, double max) const {
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value))
      fail(fmt::format("\"{}\" is no number", cell));
    if (value < min || value > max) fail(fmt::format("{} is outside {:g} to {:g}", cell, min, max));
    return value;
  }

  // Logarithms of cells[from...], which ascend.
  std::vector<double> nodes(const std::vector<std::string_view>& cells, std::size_t from) const {
    std::vector<double> result;
    for (std::size_t i = from; i < cells.size(); ++i) add_node(result, cells[i]);
    if (result.size() < 2) fail("needs at least two columns");
    return result;
  }

  // Adds ln(cell) unless it is the last node already.
  void add_node(std::vector<double>& nodes, std::string_view cell) const {
    const double value = number(cell, 1, kMaxNode);
    const double x = std::log(value);
    if (!nodes.empty() && x == nodes.back()) return;
    if (!nodes.empty() && x < nodes.back()) fail(fmt::format("{} does not ascend", cell));
    nodes.push_back(x);
  }

 private:
  std::string_view rest_;
  const std::string& file_;
  int number_ = 0;
};

void append(std::vector<float>& values, const std::vector<std::string_view>& cells,
            std::size_t from, std::size_t count, const Lines& lines) {
  if (cells.size() != from + count)
    lines.fail(
        fmt::format("{} values, not {}", cells.size() - std::min(from, cells.size()), count));
  for (std::size_t i = from; i < cells.size(); ++i)
    values.push_back(
        static_cast<float>(lines.number(cells[i], -kMaxCorrection, kMaxCorrection) * kThousandths));
}

}  // namespace

GemmTable parse_gemm_table(const std::string& text, const std::string& file_name) {
  Lines lines(text, file_name);
  GemmTable t;
  std::vector<std::string_view> cells = lines.next();
  if (cells.size() == 3 && cells[0] == "extra") {
    t.extra_fixed = Seconds(lines.number(cells[1], 0, 1));
    t.extra_per_element = Seconds(lines.number(cells[2], 0, 1));
    cells = lines.next();
  }
  if (cells.size() < 3 || cells[0] != "m" || cells[1] != "n") lines.fail("expected m,n,k1,k2,...");
  t.log_k = lines.nodes(cells, 2);
  std::vector<double> n_of_row;
  for (cells = lines.next(); !cells.empty() && cells[0] != "shape"; cells = lines.next()) {
    if (cells.size() < 2) lines.fail("expected m,n,values");
    const std::size_t before = t.log_m.size();
    lines.add_node(t.log_m, cells[0]);
    if (t.log_m.size() != before) n_of_row.clear();
    lines.add_node(n_of_row, cells[1]);
    if (t.log_m.size() == 1) t.log_n = n_of_row;
    append(t.grid, cells, 2, t.log_k.size(), lines);
  }
  if (t.log_m.size() < 2 || t.log_n.size() < 2 ||
      t.grid.size() != t.log_m.size() * t.log_n.size() * t.log_k.size())
    lines.fail("the grid is not complete");
  if (cells.empty()) return t;
  t.log_shape_n = lines.nodes(cells, 1);
  for (cells = lines.next(); !cells.empty(); cells = lines.next()) {
    lines.add_node(t.log_shape_m, cells[0]);
    append(t.shape, cells, 1, t.log_shape_n.size(), lines);
  }
  if (t.log_shape_m.size() < 2 || t.shape.size() != t.log_shape_m.size() * t.log_shape_n.size())
    lines.fail("the shapes are not complete");
  return t;
}

CollectiveTable parse_collective_table(const std::string& text, const std::string& file_name) {
  Lines lines(text, file_name);
  CollectiveTable t;
  if (lines.next() != std::vector<std::string_view>{"collective", "ranks", "bytes", "us"})
    lines.fail("expected collective,ranks,bytes,us");
  for (auto cells = lines.next(); !cells.empty(); cells = lines.next()) {
    if (cells.size() != 4) lines.fail("expected four cells");
    const auto name = std::ranges::find(kCollectiveNames, cells[0]);
    if (name == kCollectiveNames.end())
      lines.fail(fmt::format("\"{}\" is no collective", cells[0]));
    auto& series = t.series[static_cast<std::size_t>(name - kCollectiveNames.begin())];
    const int ranks = static_cast<int>(lines.number(cells[1], 1, 1 << 24));
    if (series.empty() || series.back().ranks != ranks) {
      if (!series.empty() && series.back().ranks > ranks) lines.fail("ranks do not ascend");
      series.push_back({.ranks = ranks, .bytes = {}, .seconds = {}});
    }
    CollectiveSeries& s = series.back();
    s.bytes.push_back(lines.number(cells[2], 1, kMaxNode));
    s.seconds.push_back(lines.number(cells[3], kMinTime, kMaxTime) * 1e-6);
    if (s.bytes.size() > 1 && s.bytes.back() <= s.bytes[s.bytes.size() - 2])
      lines.fail("bytes do not ascend");
  }
  for (const auto& all : t.series) {
    for (const CollectiveSeries& s : all) {
      if (s.bytes.size() < 2) lines.fail("a series needs two sizes or more");
    }
  }
  return t;
}

}  // namespace pleat
