// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rates of causal attention by sequence length (docs/MODEL.md section 7.2) from measured points: at
// each length the median over what heads there are, of what is not fixed time. The fixed time of a
// pass is the one with which each point is predicted best from all others.
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
