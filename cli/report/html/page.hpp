// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A report as one self-contained HTML file: text, tables with filters, Plotly charts. The page may
// load nothing and runs only its own scripts: its Content-Security-Policy names them by digest.
#pragma once

#include <string>
#include <vector>

#include "console/tables.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// Plotly's minified script. Without it pages have their tables only and say why.
struct ChartLibrary {
  std::string script;   // empty: not there
  std::string problem;  // why, and what to do
};
// From PLEAT_PLOTLY, else where the set-up put it.
[[nodiscard]] ChartLibrary load_chart_library();

class HtmlPage {
 public:
  // `subtitle`: a line under the title; may be empty.
  HtmlPage(std::string title, std::string subtitle);

  void heading(const std::string& text);
  void paragraph(const std::string& text);  // line feeds stay
  // Columns sort by a click on their title. With `filters` each has a field under its title: a part
  // of the text, or "<5", ">=1.5" for numbers.
  void table(const Table&, bool filters);
  // Something to type: one command, or several lines.
  void command(const std::string& text);
  // Sliders and what follows from them, drawn by what_if.js.
  void what_if(const JsonValue& data);
  // `figure`: Plotly's {"data": […], "layout": {…}}; `height` pixels; `what` describes it to those
  // who do not see it.
  void chart(const JsonValue& figure, int height, const std::string& what);

  // At the end stand the words of the glossary that the page uses.
  [[nodiscard]] std::string finish(const ChartLibrary&) const;

 private:
  void add_words(std::string& page) const;

  std::string title_, body_;
  std::string text_;  // what can be read, for the glossary
  bool what_if_ = false;
  int charts_ = 0, tables_ = 0;
};

// load_chart_library and write_file; a note on stderr says what is missing. Throws ConfigError
// (device_or_io) if the file cannot be written.
void write_page(const std::string& path, const HtmlPage&);

}  // namespace pleat::cli
