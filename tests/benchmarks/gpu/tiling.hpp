// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tilings of CUTLASS's grouped products, for a measurement of which is the fastest.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cuda/products.hpp"
#include "kernels/cuda/resources.hpp"

namespace pleat::bench {

using MultiplyTiled = void (*)(cuda::Resources&, const cuda::Products&, bool other_side,
                               int swizzle);

struct BuiltTiling {
  std::string_view kind;  // forward, dgrad or wgrad
  std::string_view name;  // tile, cluster and schedule
  MultiplyTiled multiply;
};
[[nodiscard]] std::span<const BuiltTiling> built_tilings();  // written by CMake

}  // namespace pleat::bench
