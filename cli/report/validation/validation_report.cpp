// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/validation/validation_report.hpp"

#include <fmt/format.h>

#include "cli/report/validation/validation_sections.hpp"
#include "console/wrap.hpp"

namespace pleat::cli {
namespace {

std::string replaced(std::string text, char from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, 1, to);
  }
  return text;
}

// The reports' own sign beyond ASCII.
std::string in_locale(std::string text, const Terminal& t) {
  const std::string sign = "…";
  if (t.utf8) return text;
  for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at)) {
    text.replace(at, sign.size(), "...");
  }
  return text;
}

std::string as_text(const Section& s, const Terminal& t) {
  std::string text = wrap_words(s.title, t.columns);
  if (!s.text.empty()) text += wrap_words(in_locale(s.text, t), t.columns);
  Table table = s.table;
  for (auto& row : table.rows) {
    for (std::string& cell : row) cell = in_locale(std::move(cell), t);
  }
  if (!table.columns.empty()) text += to_text(table, t.columns);
  return text + "\n";
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + replaced(cell, '|', "\\|") + " |";
  return line + "\n";
}

std::string as_markdown(const Section& s) {
  std::string text = "## " + s.title + "\n\n";
  if (!s.text.empty()) text += s.text + "\n\n";
  if (s.table.columns.empty()) return text;
  std::vector<std::string> titles;
  std::string rule = "|";
  for (const Column& column : s.table.columns) {
    titles.push_back(column.title);
    rule += column.align == Align::left ? "---|" : "---:|";
  }
  text += markdown_line(titles) + rule + "\n";
  for (const auto& row : s.table.rows) text += markdown_line(row);
  return text + "\n";
}

}  // namespace

std::string validation_text(const std::vector<ComparedRun>& rows, const Summary& s,
                            const Terminal& t) {
  std::string text;
  for (const Section& section : row_sections(rows)) text += as_text(section, t);
  for (const Section& section : summary_sections(rows, s)) text += as_text(section, t);
  return text;
}

std::string validation_markdown(const std::vector<ComparedRun>& rows, const Summary& s) {
  std::string text =
      "# Predicted against published\n\n"
      "Written by `pleat validate --recipes --out docs/VALIDATION.md`. The rows with their sources "
      "are in "
      "`configs/validation/`; `pleat validate` prints each with its error. The runs are published "
      "ones, not this project's. "
      "What the figures do not cover, and what a GPU has measured here, is in "
      "[validation-notes.md](validation-notes.md).\n\n";
  for (const Section& section : summary_sections(rows, s)) text += as_markdown(section);
  return text;
}

}  // namespace pleat::cli
