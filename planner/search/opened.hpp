// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What comes of opening one node of the search tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/space/plan_tree.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct Rejection {
  const char* rule;
  std::int64_t plans;
};

// A plan that was priced, by its node, which has one mesh.
struct Priced {
  Node node;
  StepEstimate estimate;
  bool fits = false;
  std::vector<StageOverride> stages = {};
};

// What came of one node: all its plans are in its children, rejected, or priced.
struct Opened {
  std::vector<Node> children;
  std::vector<Rejection> rejected;
  std::vector<Priced> priced;
  std::int64_t stage_choices = 0;  // that were compiled (ChosenByStage::compiled)
  bool cut = false;  // a priced plan may not be the best of those it stands for
  std::int64_t least_peak = 0;  // bytes; what a plan that does not fit needs at least
  // Of a grid: meshes whose state alone does not fit, and its bytes.
  std::vector<std::pair<std::int32_t, std::int64_t>> too_large;

  void note_peak(std::int64_t peak) {
    least_peak = least_peak > 0 ? std::min(least_peak, peak) : peak;
  }
};

}  // namespace pleat
