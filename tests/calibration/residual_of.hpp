// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How well a family fits, out of a fitted profile.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "calibration/fit/profile_fit.hpp"

namespace pleat::test {

inline Residual residual_of(const FittedProfile& f, const std::string& family) {
  for (const Residual& r : f.residuals)
    if (r.family == family && r.kind.empty()) return r;
  ADD_FAILURE() << family << " is not judged";
  return {};
}

}  // namespace pleat::test
