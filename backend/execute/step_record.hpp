// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Numbers of the running step that operations leave for each other, and for the report after it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "backend/log/expert_load.hpp"
#include "backend/optimizer/weight_decay.hpp"
#include "core/program/losses.hpp"
#include "core/program/program.hpp"

namespace pleat {

// Elements [offset, …) of a bucket.
struct BucketRange {
  std::int64_t offset = 0;
  std::vector<float> values;
  bool operator==(const BucketRange&) const = default;
};

namespace execute {

struct StepRecord {
  // Of the run.
  UndecayedRanges undecayed;  // elements without weight decay
  std::int64_t updates = 0;   // steps that changed the weights
  double min_router_margin = std::numeric_limits<double>::infinity();

  // Of the step.
  int number = 0;
  double lr = 0;
  Losses losses{};
  ExpertLoad load;
  float norm_part = 0;     // this rank's part of the gradients' squared norm
  double grad_norm = 0;    // of all ranks, before clipping
  double clip_factor = 1;  // of the gradients, as `clip` wrote it
  bool skipped = false;    // gradients were not finite: nothing changes
  std::map<Bucket, std::vector<BucketRange>>
      gradients;  // that the optimizer saw, where they are kept
};

}  // namespace execute
}  // namespace pleat
