// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/residual.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/hold_out.hpp"
#include "calibration/microbench/clock.hpp"

namespace pleat {
namespace {

Residual residual_of(const std::string& family, const std::string& kind,
                     const std::vector<JudgedPoint>& points) {
  std::vector<double> in, out;
  for (const JudgedPoint& p : points) (p.held_out ? out : in).push_back(p.error);
  Residual r{.family = family,
             .kind = kind,
             .in_sample = static_cast<int>(in.size()),
             .held_out = static_cast<int>(out.size()),
             .in_sample_median = median(in)};
  if (!out.empty()) {
    r.held_out_median = median(out);
    r.held_out_worst = *std::max_element(out.begin(), out.end());
  }
  return r;
}

}  // namespace

double relative_error(Seconds predicted, Seconds measured) {
  return std::abs(predicted / measured - 1);
}

void append_residuals(const std::string& family, const std::vector<JudgedPoint>& points,
                      bool by_kind, std::vector<Residual>& residuals) {
  residuals.push_back(residual_of(family, "", points));
  if (!by_kind) return;
  std::map<std::string, std::vector<JudgedPoint>> kinds;
  for (const JudgedPoint& p : points) kinds[kind_of(p.name)].push_back(p);
  if (kinds.size() < 2) return;
  for (const auto& [kind, some] : kinds) residuals.push_back(residual_of(family, kind, some));
}

}  // namespace pleat
