// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits what predicts a matrix product on a GPU: its law and the table of corrections to the law.
#pragma once

#include <string>
#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

// Fits the law of matrix products on a GPU (core/spec/platform_rates.hpp, docs/MODEL.md section
// 7.1) to measured products, by the mean of their relative errors.

struct ProductPoint {
  ProductShape shape;
  Bytes bytes;  // of every operand, read and written
  Seconds time;
};

// Tiles of the GPU's libraries: of Blackwell where the GPU has fp4 arithmetic, else of Hopper.
[[nodiscard]] std::vector<GemmTile> gemm_tiles(const GpuSpec&);

// Of products of one expert each; needs one. `like`: a law whose tile_exponent and wave are taken,
// for few points; null: all constants are fitted. `peak`: of the arithmetic.
[[nodiscard]] GemmLaw fit_gemm_law(const std::vector<ProductPoint>&, const GpuSpec&,
                                   const std::vector<GemmTile>&, FlopsPerSecond peak,
                                   const GemmLaw* like = nullptr);

// What grouped products take beside the law of their arithmetic: constants of several experts' in
// bf16, and of narrow ones their rate. Points of arithmetic without a law are passed over.
[[nodiscard]] GroupedLaw fit_grouped_law(const std::vector<ProductPoint>&, const GpuSpec&,
                                         const GemmLaws&);

// As the simulator prices it; the arithmetic has a law.
[[nodiscard]] Seconds predict(const GemmLaws&, const ProductPoint&, const GpuSpec&);

// A table of corrections (core/spec/kernel_tables.hpp) from what measured products leave of a law:
// ln(measured / law) carried to the nodes of a grid by regression on distances in (ln m, ln n, ln
// k) (Gaussian process, covariance exp(-distance), a third as much noise): near measured products
// it follows them, far from all of them it is 0.

// The table's text; needs one point.
[[nodiscard]] std::string gemm_corrections(const std::vector<ProductPoint>&, const GpuSpec&,
                                           const std::vector<GemmTile>&, const GemmLaw&);

}  // namespace pleat
