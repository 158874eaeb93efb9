// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "console/wrap.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::string padded_cell(const std::string& text, std::size_t to, Align align) {
  const std::string blanks(to - std::min(to, shown_width(text)), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

}  // namespace

std::string to_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(shown_width(column.title));
  for (const auto& row : table.rows) {
    PLEAT_ASSERT(row.size() == widths.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], shown_width(row[i]));
    }
  }
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded_cell(cell(i), widths[i], table.columns[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line([&](std::size_t i) { return table.columns[i].title; });
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i]; });
  return text;
}

Table without_column(Table table, std::string_view title) {
  const auto found = std::ranges::find(table.columns, title, &Column::title);
  PLEAT_ASSERT(found != table.columns.end());
  const auto at = found - table.columns.begin();
  table.columns.erase(found);
  for (auto& row : table.rows) row.erase(row.begin() + at);
  return table;
}

std::string format_count(std::int64_t n) {
  std::string digits = std::to_string(n < 0 ? -n : n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return (n < 0 ? "-" : "") + digits;
}

std::string format_billions(std::int64_t n) {
  if (n < 10'000'000) return fmt::format("{:.3f} M", static_cast<double>(n) / 1e6);
  return fmt::format("{:.3f} B", static_cast<double>(n) / 1e9);
}

std::string format_bytes(std::int64_t n) {
  const double bytes = static_cast<double>(n);
  if (bytes >= 1024.0 * 1024 * 1024)
    return fmt::format("{:.2f} GiB", bytes / (1024.0 * 1024 * 1024));
  if (bytes >= 1024.0 * 1024) return fmt::format("{:.2f} MiB", bytes / (1024.0 * 1024));
  return fmt::format("{:.2f} KiB", bytes / 1024.0);
}

std::string format_seconds(Seconds t) {
  const double s = t.base();
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} us", s * 1e6);
}

std::string format_percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::string three_digits(double value) {
  if (!(std::abs(value) > 0)) return "0";
  // 9.996 is 10.0.
  const double magnitude = std::floor(std::log10(std::abs(value) * 1.0005));
  return fmt::format("{:.{}f}", value, static_cast<int>(std::clamp(2 - magnitude, 0.0, 12.0)));
}

}  // namespace pleat
