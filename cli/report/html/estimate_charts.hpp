// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Charts of an estimate, which the pages of several commands show.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/report/html/page.hpp"
#include "core/json/json_value.hpp"
#include "core/spec/cluster.hpp"
#include "core/trace/trace.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {

// Memory of every stage by kind, against the GPU's.
[[nodiscard]] JsonValue memory_figure(const StepEstimate&, const ClusterSpec&);
void add_memory_chart(HtmlPage&, const StepEstimate&, const ClusterSpec&);

// Where the time of several estimates goes, a bar each; names as short as ticks.
[[nodiscard]] JsonValue breakdown_figure(
    const std::vector<std::pair<std::string, const StepEstimate*>>&);
void add_breakdown_chart(HtmlPage&,
                         const std::vector<std::pair<std::string, const StepEstimate*>>&);

// Slots of every stage, from the slices of a predicted trace; the first so many if there are more
// than a browser draws quickly.
struct TimelineFigure {
  JsonValue figure;
  std::size_t stages = 0;
  std::string note;  // what gaps are, or which part is shown
};
[[nodiscard]] TimelineFigure timeline_figure(const Trace&);
void add_timeline_chart(HtmlPage&, const Trace&);

// One figure a line: step, throughput, MFU, memory.
[[nodiscard]] Table estimate_table(const StepEstimate&, const ClusterSpec&);

}  // namespace pleat::cli
