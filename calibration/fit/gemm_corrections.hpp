// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A table of corrections (core/spec/kernel_tables.hpp) from what measured products leave of a law:
// ln(measured / law) carried to the nodes of a grid by regression on distances in (ln m, ln n, ln k)
// (Gaussian process, covariance exp(-distance), a third as much noise): near measured products
// it follows them, far from all of them it is 0.
#pragma once

#include <string>

#include "calibration/fit/gemm_fit.hpp"

namespace pleat {

// The table's text; needs one point.
[[nodiscard]] std::string gemm_corrections(const std::vector<ProductPoint>&, const GpuSpec&,
                                           const std::vector<GemmTile>&, const GemmLaw&);

}  // namespace pleat
