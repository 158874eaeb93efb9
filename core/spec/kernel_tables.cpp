// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Looking up measured tables.
#include "core/spec/kernel_tables.hpp"

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "core/spec/gemm_law.hpp"

namespace pleat {
namespace {

// Between which nodes a value lies, and how far: clamped to the ends.
struct Place {
  std::size_t low = 0;
  double share = 0;  // of the upper node
  bool on_node = false;
};

Place place(const std::vector<double>& nodes, double x) {
  if (x <= nodes.front()) return {0, 0, x == nodes.front()};
  if (x >= nodes.back()) return {nodes.size() - 2, 1, x == nodes.back()};
  const auto after = std::upper_bound(nodes.begin(), nodes.end(), x);
  const auto low = static_cast<std::size_t>(after - nodes.begin()) - 1;
  const double share = (x - nodes[low]) / (nodes[low + 1] - nodes[low]);
  return {low, share, share == 0};
}

std::size_t nearest(const std::vector<double>& nodes, double x) {
  const Place p = place(nodes, x);
  return p.share > 0.5 ? p.low + 1 : p.low;
}

double offset_of_shape(const GemmTable& t, double log_m, double log_n, bool& exact) {
  if (t.shape.empty()) return 0;
  const std::size_t i = nearest(t.log_shape_m, log_m), j = nearest(t.log_shape_n, log_n);
  const double distance =
      std::max(std::abs(t.log_shape_m[i] - log_m), std::abs(t.log_shape_n[j] - log_n));
  exact = distance == 0;
  const double weight = std::max(0.0, 1.0 - distance / kShapeReach);
  return weight * static_cast<double>(t.shape[i * t.log_shape_n.size() + j]);
}

}  // namespace

Correction correction_at(const GemmTable& t, double m, double n, double k) {
  const double log_m = std::log(m), log_n = std::log(n);
  const Place pm = place(t.log_m, log_m), pn = place(t.log_n, log_n),
              pk = place(t.log_k, std::log(k));
  const std::size_t row = t.log_k.size(), plane = t.log_n.size() * row;
  const float* at = t.grid.data() + pm.low * plane + pn.low * row + pk.low;
  auto along_k = [&](const float* p) {
    return static_cast<double>(p[0]) * (1 - pk.share) + static_cast<double>(p[1]) * pk.share;
  };
  auto along_n = [&](const float* p) {
    return along_k(p) * (1 - pn.share) + along_k(p + row) * pn.share;
  };
  bool exact = false;
  Correction c;
  c.log = along_n(at) * (1 - pm.share) + along_n(at + plane) * pm.share +
          offset_of_shape(t, log_m, log_n, exact);
  if (exact && pk.on_node) c.source = SourceClass::measured;
  return c;
}

TableTime time_at(const CollectiveSeries& s, Bytes whole) {
  PLEAT_ASSERT(s.bytes.size() >= 2);
  const double x = whole.base();
  if (x > s.bytes.back()) {
    return {Seconds(s.seconds.back() * x / s.bytes.back()), SourceClass::interpolated};
  }
  const Place p = place(s.bytes, x);
  return {Seconds(s.seconds[p.low] * (1 - p.share) + s.seconds[p.low + 1] * p.share),
          p.on_node ? SourceClass::measured : SourceClass::interpolated};
}

const CollectiveSeries* nearest_series(const CollectiveTable& t, std::size_t collective,
                                       int ranks) {
  const CollectiveSeries* best = nullptr;
  for (const CollectiveSeries& s : t.series[collective]) {
    if (s.ranks <= ranks) best = &s;
  }
  return best;
}

const GemmLaw* GemmLaws::find(GemmMath math) const {
  auto law = [&](GemmMath m) {
    const GemmLaw& l = by_math[static_cast<std::size_t>(m)];
    return l.rate > FlopsPerSecond(0) ? &l : nullptr;
  };
  // From the arithmetic asked for to wider ones; block scales and mx scales stand for each other.
  static constexpr std::array<std::array<GemmMath, 4>, kGemmMaths> kInstead = {{
      {GemmMath::bf16, GemmMath::bf16, GemmMath::bf16, GemmMath::bf16},
      {GemmMath::fp8, GemmMath::bf16, GemmMath::bf16, GemmMath::bf16},
      {GemmMath::fp8_block, GemmMath::mxfp8, GemmMath::fp8, GemmMath::bf16},
      {GemmMath::mxfp8, GemmMath::fp8_block, GemmMath::fp8, GemmMath::bf16},
      {GemmMath::nvfp4, GemmMath::mxfp8, GemmMath::fp8, GemmMath::bf16},
  }};
  for (GemmMath m : kInstead[static_cast<std::size_t>(math)]) {
    if (const GemmLaw* found = law(m)) return found;
  }
  return nullptr;
}

}  // namespace pleat
