// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From samples to a profile: one curve a kernel family, on a GPU laws of matrix products and rates
// of attention, one curve a collective, the penalty of sharing cores, and how far the fit is off,
// on the points it saw and on those it did not (family.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/family.hpp"
#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

// What a GPU's profile has beside efficiency curves: a law of matrix products for each arithmetic
// with a table of corrections, what grouped ones take beside it, rates of attention by length.

// Texts of tables, by the name that the profile has for them.
using TableTexts = std::map<std::string, std::string>;

// Whether the samples are of a GPU whose number of processors is known, with products in bf16.
[[nodiscard]] bool has_laws(const std::vector<Sample>&, const ClusterSpec&);

// Needs has_laws() and the profile's curves: of attention, whose fixed times and shares of the
// memory's bandwidth are replaced, and of plain copies. Tables are loaded, too.
[[nodiscard]] TableTexts fit_laws(const std::vector<Sample>&, const ClusterSpec&, Profile&,
                                  std::vector<Residual>&);

struct FittedProfile {
  Profile profile;  // name, cluster, provenance and host times are the caller's
  std::vector<Residual> residuals;
  TableTexts tables = {};  // that the profile names
};

// Kernels measured alone give the curves. Those measured on all cores or more threads give
// sharing_penalty: the median of (slow-down / (threads / cores)), and each class its contention.
// Collective times are divided by the slow-down that the simulator will multiply them with.
[[nodiscard]] FittedProfile fit(const std::vector<Sample>&, const ClusterSpec&);

// What is measured and no constant follows from: how far the profile's constants are off there.
// Collectives and kernels in families beside the plain ones' ("all_to_all, uneven rows", "quantize,
// columns"), and attention in which every query sees every key.

[[nodiscard]] bool sees_all_keys(const KernelSample&);

// Against the fitted profile, which stays as it is: collectives by the curve of their tier, with
// uneven rows by the bytes of the busiest rank; kernels by their curve or law; attention where its
// rates were fitted. All is held out.
void judge(const std::vector<Sample>&, const ClusterSpec&, const Profile&, std::vector<Residual>&);

}  // namespace pleat
