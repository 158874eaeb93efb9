// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits rates of causal attention by sequence length (docs/MODEL.md section 7.2) to measured points.
// A fixed time of the pass is subtracted first; the rate at a length is the median over the numbers
// of heads. The fixed time is chosen so that each point is predicted best from all others.
#pragma once

#include <array>
#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

struct AttentionPoint {
  AttentionSize size;
  Flops flops;
  Bytes bytes;
  Seconds time;
};

// Of one pass.
struct AttentionFit {
  std::array<AttentionRate, 2> by_layout;  // empty where none was measured
  EfficiencyCurve curve;                   // fixed time and share of the memory's bandwidth
};

// `curve`: of the pass; its fixed time is replaced. Needs one point.
[[nodiscard]] AttentionFit fit_attention(const std::vector<AttentionPoint>&, const GpuSpec&,
                                         const EfficiencyCurve& curve);

// As the simulator prices it; the layout was measured.
[[nodiscard]] Seconds predict(const AttentionFit&, const AttentionPoint&, const GpuSpec&);

}  // namespace pleat
