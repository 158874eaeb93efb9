// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The kinds of chart that reports use, as figures of Plotly: what they show, not how it is drawn.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json/json_value.hpp"

namespace pleat::cli {

// Bars stacked over categories. `limit` 0: none; else a dashed line with its name.
struct StackedBars {
  std::vector<std::string> categories{};  // each as short as a tick
  struct Series {
    std::string name;
    std::vector<double> values;  // by category
    std::string colour;          // empty: Plotly's
  };
  std::vector<Series> series{};
  std::string unit{};  // title of the value axis
  bool horizontal = false;
  double limit = 0;
  std::string limit_name{};
};
[[nodiscard]] JsonValue stacked_bars(const StackedBars&);

// Points in groups; `text` is shown on hovering.
struct Scatter {
  struct Group {
    std::string name;
    std::vector<double> x{}, y{};
    std::vector<std::string> text{};  // as many as points, or none
    bool line = false;              // joined: a front
    bool dashed = false;            // a dashed line without markers: a limit
    std::string colour{}, symbol{};  // empty: Plotly's
  };
  std::vector<Group> groups{};
  std::string x_title{}, y_title{};
  bool logarithmic = false;  // axes whose values differ fivefold; both with a diagonal
  bool diagonal = false;     // a line where y is x
};
[[nodiscard]] JsonValue scatter(const Scatter&);

// Counts of values in bins of a given width, groups on top of each other.
struct Histogram {
  std::vector<std::pair<std::string, std::vector<double>>> groups{};
  std::string x_title{};
  double bin = 1;
};
[[nodiscard]] JsonValue histogram(const Histogram&);

// Slices of time on rows, coloured by kind.
struct Timeline {
  std::vector<std::string> rows{};  // the first on top
  struct Slice {
    std::size_t row = 0;
    double start = 0, duration = 0;
    std::string text;
  };
  struct Kind {
    std::string name, colour;
    std::vector<Slice> slices;
  };
  std::vector<Kind> kinds{};
  std::string unit{};  // title of the time axis
};
[[nodiscard]] JsonValue timeline(const Timeline&);

// What a value becomes when inputs change, the widest first as given: bars from the base to both
// ends.
struct Tornado {
  struct Input {
    std::string name;
    double low = 0, high = 0;  // the value with the input lowered and raised
  };
  std::vector<Input> inputs{};
  double base = 0;
  std::string low_name = "lower", high_name = "higher";
  std::string unit{};
};
[[nodiscard]] JsonValue tornado(const Tornado&);

}  // namespace pleat::cli
