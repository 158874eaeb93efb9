// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/estimate_charts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/report/html/charts.hpp"
#include "cli/report/step_report.hpp"
#include "console/tables.hpp"
#include "core/quantity.hpp"
#include "simulator/trace_drawing.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kMostSlices = 12'000;

const char* colour_of(CostClass cls) {
  switch (cls) {
    case CostClass::gemm:
      return "#4c78a8";
    case CostClass::grouped_gemm:
      return "#1f4e79";
    case CostClass::attention:
      return "#72b7b2";
    case CostClass::memory_bound:
      return "#54a24b";
    case CostClass::tp_comm:
      return "#f2cf5b";
    case CostClass::cp_comm:
      return "#eeca3b";
    case CostClass::ep_comm:
      return "#f58518";
    case CostClass::pp_comm:
      return "#ff9da6";
    case CostClass::dp_comm:
      return "#e45756";
    case CostClass::offload:
      return "#9d755d";
    case CostClass::optimizer:
      return "#b279a2";
    case CostClass::host:
      return "#79706e";
    case CostClass::bubble:
      return "#d3d3d3";
  }
  return "";
}

int chart_height(std::size_t rows, int row) {
  return std::min(1200, 150 + row * static_cast<int>(rows));
}

}  // namespace

JsonValue memory_figure(const StepEstimate& e, const ClusterSpec& cluster) {
  StackedBars chart{.unit = "GiB",
                    .limit = cluster.gpu.memory.base() / kGiB,
                    .limit_name = fmt::format("{} has {:.1f} GiB", cluster.gpu.name,
                                              cluster.gpu.memory.base() / kGiB)};
  const auto add = [&](const char* name, const char* colour, std::int64_t StageMemory::*part) {
    StackedBars::Series series{name, {}, colour};
    for (const StageMemory& m : e.memory) {
      series.values.push_back(static_cast<double>(m.*part) / kGiB);
    }
    chart.series.push_back(std::move(series));
  };
  for (const StageMemory& m : e.memory) {
    chart.categories.push_back(fmt::format("stage {}", m.stage.value));
  }
  add("weights", "#4c78a8", &StageMemory::weights);
  add("gradients", "#72b7b2", &StageMemory::gradients);
  add("optimizer", "#b279a2", &StageMemory::optimizer);
  add("activations", "#f58518", &StageMemory::activations);
  add("runtime", "#79706e", &StageMemory::runtime);
  return stacked_bars(chart);
}

void add_memory_chart(HtmlPage& page, const StepEstimate& e, const ClusterSpec& cluster) {
  page.chart(memory_figure(e, cluster), 380, "Peak memory of every stage by kind");
}

JsonValue breakdown_figure(const std::vector<std::pair<std::string, const StepEstimate*>>& list) {
  StackedBars chart{.unit = "seconds of a step", .horizontal = true};
  for (const auto& [name, e] : list) chart.categories.push_back(name);
  for (std::size_t c = 0; c < kCostClasses; ++c) {
    const auto cls = static_cast<CostClass>(c);
    StackedBars::Series series{name_of(cls), {}, colour_of(cls)};
    bool shows = false;
    for (const auto& [name, e] : list) {
      series.values.push_back(e->parts[c].base());
      shows = shows || e->parts[c] > e->step * 1e-6;
    }
    if (shows) chart.series.push_back(std::move(series));
  }
  return stacked_bars(chart);
}

void add_breakdown_chart(HtmlPage& page,
                         const std::vector<std::pair<std::string, const StepEstimate*>>& list) {
  page.chart(breakdown_figure(list), chart_height(list.size(), 34) + 40,
             "Where the time of a step goes");
}

TimelineFigure timeline_figure(const Trace& trace) {
  std::map<int, std::size_t> rows;  // by rank
  Timeline chart{.unit = "seconds"};
  for (const TraceSlice& s : trace.slices) {
    if (s.place.track != kSlotsTrack || !rows.try_emplace(s.place.rank, rows.size()).second)
      continue;
    chart.rows.push_back(fmt::format("stage {}", chart.rows.size()));
  }
  Timeline::Kind forward{"forward", "#4c78a8", {}}, backward{"backward", "#54a24b", {}},
      pair{"both at once", "#f58518", {}}, weights{"weight gradients", "#b5cf6b", {}},
      other{"step operations", "#b279a2", {}};
  std::vector<const TraceSlice*> shown;
  for (const TraceSlice& s : trace.slices) {
    if (s.place.track == kSlotsTrack && s.name != "idle") shown.push_back(&s);
  }
  std::ranges::stable_sort(shown, {}, [](const TraceSlice* s) { return s->start_s; });
  const bool all = shown.size() <= kMostSlices;
  if (!all) shown.resize(kMostSlices);
  for (const TraceSlice* s : shown) {
    const bool f = s->name.starts_with("F m"), b = s->name.starts_with("B m"),
               w = s->name.starts_with("W m");
    Timeline::Kind& kind = w                                          ? weights
                           : !f && !b                                 ? other
                           : s->name.find(" + ") != std::string::npos ? pair
                           : f                                        ? forward
                                                                      : backward;
    kind.slices.push_back(
        {rows.at(s->place.rank), s->start_s, s->duration_s,
         fmt::format("{}: {:.2f} ms from {:.4f} s", s->name, s->duration_s * 1e3, s->start_s)});
  }
  chart.kinds = {std::move(forward), std::move(backward), std::move(pair), std::move(weights),
                 std::move(other)};
  return {timeline(chart), chart.rows.size(),
          all ? "Gaps are idle time: the pipeline bubble and waits between stages."
              : fmt::format("The first {} of the step's slots, up to {:.3f} s; `--trace` has "
                            "all of them.",
                            kMostSlices, shown.back()->start_s)};
}

void add_timeline_chart(HtmlPage& page, const Trace& trace) {
  const TimelineFigure made = timeline_figure(trace);
  page.chart(made.figure, chart_height(made.stages, 30), "Timeline of the step by stage");
  page.paragraph(made.note);
}

Table estimate_table(const StepEstimate& e, const ClusterSpec& cluster) {
  Table table{{{"", Align::left}, {"predicted"}}, {}};
  const auto row = [&](const char* name, std::string value) {
    table.rows.push_back({name, std::move(value)});
  };
  row("step", fmt::format("{} ({} to {})", format_seconds(e.step), format_seconds(e.low),
                          format_seconds(e.high)));
  row("tokens/s", format_count(static_cast<std::int64_t>(e.tokens_per_second)));
  row("tokens/s per GPU", fmt::format("{:.6g}", e.tokens_per_second_per_gpu));
  row("model TFLOP/s per GPU", fmt::format("{:.4g}", e.model_flops_per_gpu.base() / 1e12));
  row("MFU", fmt::format("{}", fmt::join(mfu_fields(e), ", ")));
  row("peak memory", fmt::format("{} of {}: {}", format_bytes(e.peak_bytes()),
                                 format_bytes(static_cast<std::int64_t>(cluster.gpu.memory.base())),
                                 e.fits ? "fits" : "does not fit"));
  return table;
}

}  // namespace pleat::cli
