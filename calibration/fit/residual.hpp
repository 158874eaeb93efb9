// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How far a fit is off, on the points it saw and on those it did not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

struct Residual {
  std::string family;  // "gemm", "all_gather", "shared by 4 threads"
  std::string kind = {};  // of its points, "gemm.dgrad"; empty: all of them
  int in_sample = 0, held_out = 0;  // points
  double in_sample_median = 0;      // |predicted / measured - 1|
  // Without a value: no point was held out, so that nothing is known.
  std::optional<double> held_out_median = {}, held_out_worst = {};
  bool operator==(const Residual&) const = default;
};

struct JudgedPoint {
  std::string name;
  bool held_out = false;
  double error = 0;  // |predicted / measured - 1|
};

[[nodiscard]] double relative_error(Seconds predicted, Seconds measured);

// Of all points, and where `by_kind` and they are of several kinds, of each of these.
void append_residuals(const std::string& family, const std::vector<JudgedPoint>&, bool by_kind,
                      std::vector<Residual>&);

}  // namespace pleat
