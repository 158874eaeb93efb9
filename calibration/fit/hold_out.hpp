// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which measured points a fit does not see: a quarter of every kind, picked by a hash of their
// names, so that the choice follows neither the order of the plan nor the sizes in it.
#pragma once

#include <string>
#include <vector>

namespace pleat {

// What a point is without its sizes: "grouped_gemm.dgrad, zipf" of
// "grouped_gemm.dgrad 8192x4096x7168 16 experts, zipf".
[[nodiscard]] std::string kind_of(const std::string& name);

// True: held out. Of a kind with one point none, else at least one; the same for the same names in
// any order.
[[nodiscard]] std::vector<bool> held_out(const std::vector<std::string>& names);

}  // namespace pleat
