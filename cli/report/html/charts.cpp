// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/charts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

template <class T>
JsonValue list(const std::vector<T>& values) {
  JsonValue array = JsonValue::array();
  for (const T& value : values) array.push_back(value);
  return array;
}

JsonValue object() { return JsonValue::object(); }

JsonValue title(const std::string& text) {
  JsonValue json = object();
  return json.set("text", text);
}

JsonValue axis(const std::string& text) {
  JsonValue json = object();
  return json.set("title", title(text)).set("automargin", true);
}

JsonValue figure(JsonValue data, JsonValue layout) {
  JsonValue json = object();
  return json.set("data", std::move(data)).set("layout", std::move(layout));
}

JsonValue coloured(const std::string& colour) {
  JsonValue marker = object();
  if (!colour.empty()) marker.set("color", colour);
  return marker;
}

JsonValue dashes() {
  JsonValue dash = object();
  return dash.set("dash", "dash").set("width", 1.5).set("color", "#57606a");
}

JsonValue dashed_line(const char* x0, JsonValue x0_value, const char* x1, JsonValue x1_value) {
  JsonValue line = object();
  line.set("type", "line").set("line", dashes());
  return line.set(x0, std::move(x0_value)).set(x1, std::move(x1_value));
}

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  void take(double v) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  [[nodiscard]] bool is_long() const { return most > 5 * least; }
};

// Plotly labels the digits between powers of ten by themselves; whole numbers say more where the
// range is short.
void make_logarithmic(JsonValue& axis, const Range& range) {
  constexpr double kShort = 1000;
  axis.set("type", "log");
  if (range.least <= 0 || range.most > range.least * kShort) return;
  std::vector<double> ticks;
  for (double ten = std::pow(10, std::floor(std::log10(range.least))); ten <= range.most;
       ten *= 10) {
    for (const double digit : {1, 2, 3, 5, 7}) ticks.push_back(digit * ten);
  }
  axis.set("tickmode", "array").set("tickvals", list(ticks));
}

JsonValue one(JsonValue value) {
  JsonValue array = JsonValue::array();
  return array.push_back(std::move(value));
}

// Categories are names, never numbers, in the order given.
JsonValue category_axis(const std::vector<std::string>& categories, bool downwards) {
  JsonValue json = axis("");
  json.set("type", "category").set("categoryorder", "array").set("categoryarray", list(categories));
  if (downwards) json.set("autorange", "reversed");
  return json;
}

}  // namespace

JsonValue stacked_bars(const StackedBars& c) {
  JsonValue data = JsonValue::array();
  for (const StackedBars::Series& s : c.series) {
    PLEAT_ASSERT(s.values.size() == c.categories.size());
    JsonValue trace = object();
    trace.set("type", "bar").set("name", s.name).set("marker", coloured(s.colour));
    trace.set(c.horizontal ? "y" : "x", list(c.categories));
    trace.set(c.horizontal ? "x" : "y", list(s.values));
    trace.set("orientation", c.horizontal ? "h" : "v");
    data.push_back(trace);
  }
  JsonValue layout = object();
  layout.set("barmode", "stack");
  layout.set(c.horizontal ? "xaxis" : "yaxis", axis(c.unit));
  layout.set(c.horizontal ? "yaxis" : "xaxis", category_axis(c.categories, c.horizontal));
  if (c.limit > 0) {
    JsonValue line = c.horizontal ? dashed_line("x0", c.limit, "x1", c.limit)
                                  : dashed_line("y0", c.limit, "y1", c.limit);
    line.set(c.horizontal ? "y0" : "x0", 0).set(c.horizontal ? "y1" : "x1", 1);
    line.set(c.horizontal ? "yref" : "xref", "paper");
    JsonValue words = object();
    words.set("text", c.limit_name).set("showarrow", false).set("xref", "paper").set("x", 0);
    words.set("xanchor", "left").set("y", c.limit).set("yanchor", "bottom");
    layout.set("shapes", one(line));
    if (!c.horizontal) layout.set("annotations", one(words));
  }
  return figure(data, layout);
}

JsonValue scatter(const Scatter& c) {
  JsonValue data = JsonValue::array();
  Range x_range, y_range;
  for (const Scatter::Group& g : c.groups) {
    PLEAT_ASSERT(g.x.size() == g.y.size() && (g.text.empty() || g.text.size() == g.x.size()));
    JsonValue trace = object();
    trace.set("type", "scatter");
    trace.set("mode", g.dashed ? "lines" : g.line ? "lines+markers" : "markers");
    if (g.dashed) trace.set("line", dashes()).set("hoverinfo", "name");
    JsonValue marker = coloured(g.colour);
    if (!g.symbol.empty()) marker.set("symbol", g.symbol).set("size", 13);
    if (!g.dashed) trace.set("marker", marker);
    trace.set("name", g.name).set("x", list(g.x)).set("y", list(g.y));
    if (!g.text.empty()) trace.set("text", list(g.text));
    data.push_back(trace);
    for (const double v : g.x) x_range.take(v);
    for (const double v : g.y) y_range.take(v);
  }
  JsonValue x = axis(c.x_title), y = axis(c.y_title), layout = object();
  if (c.logarithmic) {
    // A diagonal wants both axes alike.
    if (c.diagonal || x_range.is_long()) make_logarithmic(x, x_range);
    if (c.diagonal || y_range.is_long()) make_logarithmic(y, y_range);
  }
  layout.set("xaxis", x).set("yaxis", y).set("hovermode", "closest");
  const double least = std::min(x_range.least, y_range.least);
  const double most = std::max(x_range.most, y_range.most);
  if (c.diagonal && most > 0) {
    JsonValue line = dashed_line("x0", least, "x1", most);
    layout.set("shapes", one(line.set("y0", least).set("y1", most)));
  }
  return figure(data, layout);
}

JsonValue histogram(const Histogram& c) {
  JsonValue data = JsonValue::array();
  for (const auto& [name, values] : c.groups) {
    JsonValue trace = object(), bins = object();
    // Bins with an edge at 0, wide enough for every value.
    double least = 0, most = 0;
    for (const auto& group : c.groups) {
      for (const double v : group.second) {
        least = std::min(least, v);
        most = std::max(most, v);
      }
    }
    const double steps_below = static_cast<double>(static_cast<long>(-least / c.bin)) + 1;
    bins.set("size", c.bin).set("start", -steps_below * c.bin).set("end", most + c.bin);
    trace.set("type", "histogram").set("name", name).set("x", list(values)).set("xbins", bins);
    data.push_back(trace);
  }
  JsonValue layout = object();
  layout.set("barmode", "stack").set("bargap", 0.05);
  return figure(data, layout.set("xaxis", axis(c.x_title)).set("yaxis", axis("rows")));
}

JsonValue timeline(const Timeline& c) {
  JsonValue data = JsonValue::array();
  for (const Timeline::Kind& kind : c.kinds) {
    std::vector<std::string> rows, text;
    std::vector<double> starts, durations;
    for (const Timeline::Slice& s : kind.slices) {
      rows.push_back(c.rows[s.row]);
      text.push_back(s.text);
      starts.push_back(s.start);
      durations.push_back(s.duration);
    }
    if (rows.empty()) continue;
    JsonValue trace = object(), outline = object(), marker = coloured(kind.colour);
    outline.set("width", 0.3).set("color", "#ffffff");
    trace.set("type", "bar").set("orientation", "h").set("name", kind.name);
    trace.set("y", list(rows)).set("base", list(starts)).set("x", list(durations));
    trace.set("hovertext", list(text)).set("hoverinfo", "text").set("width", 0.8);
    data.push_back(trace.set("marker", marker.set("line", outline)));
  }
  JsonValue layout = object();
  layout.set("barmode", "overlay").set("xaxis", axis(c.unit)).set("hovermode", "closest");
  return figure(data, layout.set("yaxis", category_axis(c.rows, true)));
}

JsonValue tornado(const Tornado& c) {
  std::vector<std::string> names;
  std::vector<double> low, high;
  for (const Tornado::Input& input : c.inputs) {
    names.push_back(input.name);
    low.push_back(input.low - c.base);
    high.push_back(input.high - c.base);
  }
  const auto side = [&](const std::string& name, const std::vector<double>& values,
                        const char* colour) {
    JsonValue trace = object();
    trace.set("type", "bar").set("orientation", "h").set("name", name).set("base", c.base);
    return trace.set("y", list(names)).set("x", list(values)).set("marker", coloured(colour));
  };
  JsonValue data = JsonValue::array(), layout = object();
  data.push_back(side(c.low_name, low, "#4c78a8")).push_back(side(c.high_name, high, "#e45756"));
  layout.set("barmode", "overlay").set("xaxis", axis(c.unit));
  return figure(data, layout.set("yaxis", category_axis(names, true)));
}

}  // namespace pleat::cli
