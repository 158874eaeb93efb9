// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What Muon's steps are scaled by (mcore optimizer/muon.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace pleat {

// spectral: sqrt(max(rows, columns)); unit_rms_norm: sqrt(rows / columns); shape_scaling: the same,
// at least 1.
enum class MuonScale : std::uint8_t { spectral, unit_rms_norm, shape_scaling };

struct MuonSettings {
  double momentum = 0.9;
  bool nesterov = false;
  MuonScale scale = MuonScale::spectral;
  double extra_scale = 1;
};

[[nodiscard]] inline double step_scale(const MuonSettings& s, std::int64_t rows,
                                       std::int64_t columns) {
  const double ratio = static_cast<double>(rows) / static_cast<double>(columns);
  switch (s.scale) {
    case MuonScale::spectral:
      return s.extra_scale * std::sqrt(static_cast<double>(std::max(rows, columns)));
    case MuonScale::unit_rms_norm: return s.extra_scale * std::sqrt(ratio);
    case MuonScale::shape_scaling: return s.extra_scale * std::sqrt(std::max(1.0, ratio));
  }
  return s.extra_scale;
}

[[nodiscard]] constexpr std::string_view name_of(MuonScale scale) {
  switch (scale) {
    case MuonScale::spectral: return "spectral";
    case MuonScale::unit_rms_norm: return "unit_rms_norm";
    case MuonScale::shape_scaling: return "shape_scaling";
  }
  return "?";
}

}  // namespace pleat
