// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is measured and no constant follows from: how far the profile's constants are off there.
// Collectives and kernels in families beside the plain ones' ("all_to_all, uneven rows", "quantize,
// columns"), and attention in which every query sees every key.
#pragma once

#include <vector>

#include "calibration/fit/family.hpp"
#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

[[nodiscard]] bool sees_all_keys(const KernelSample&);

// Against the fitted profile, which stays as it is: collectives by the curve of their tier, with
// uneven rows by the bytes of the busiest rank; kernels by their curve or law; attention where its
// rates were fitted. All is held out.
void judge(const std::vector<Sample>&, const ClusterSpec&, const Profile&, std::vector<Residual>&);

}  // namespace pleat
