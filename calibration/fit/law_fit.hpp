// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a GPU's profile has beside efficiency curves: a law of matrix products for each arithmetic
// with a table of corrections, what grouped ones take beside it, rates of attention by length.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/family.hpp"
#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

// Texts of tables, by the name that the profile has for them.
using TableTexts = std::map<std::string, std::string>;

// Whether the samples are of a GPU whose number of processors is known, with products in bf16.
[[nodiscard]] bool has_laws(const std::vector<Sample>&, const ClusterSpec&);

// Needs has_laws() and the profile's curves: of attention, whose fixed times and shares of the
// memory's bandwidth are replaced, and of plain copies. Tables are loaded, too.
[[nodiscard]] TableTexts fit_laws(const std::vector<Sample>&, const ClusterSpec&, Profile&,
                                  std::vector<Residual>&);

}  // namespace pleat
