// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The constants that runs may move: which fields of a profile each of them is, how far it may go,
// and what is known of it before (docs/MODEL.md section 14).
#pragma once

#include <vector>

#include "calibration/learn/robust_fit.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

// The profile in which what a constant prices takes exp(logs[i]) times as long, in all its eras. No
// rate passes what its field allows; limits_of says from where on a constant moves nothing more.
[[nodiscard]] Profile moved_profile(const Profile&, const LearnedVector& logs);

// Logarithms of time factors that every field can follow, in the profile and all its eras.
struct LearnedLimits {
  LearnedVector low{}, high{};
};
[[nodiscard]] LearnedLimits limits_of(const Profile&);

// Scale of Student's t by which one run differs from a profile whose constants are right: settings
// that no model sees, days of a cluster. At least 7%: so published runs lie about their profiles
// (docs/VALIDATION.md: mean 6.7%, 9 of 10 within 15.6%); more where the profile's band says that
// its shapes are guesses as well.
[[nodiscard]] double run_noise(const Profile&);

// What is known of the constants before any run, by the profile's band.
[[nodiscard]] FitPrior prior_of(const Profile&);

// The fields that a constant has moved, of the profile itself; those that are the same are left
// out.
[[nodiscard]] std::vector<LearnedField> moved_fields(LearnedKind, const Profile& before,
                                                     const Profile& after);

}  // namespace pleat
