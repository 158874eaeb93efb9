// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which of a profile's software eras a run belongs to.
#pragma once

#include <optional>
#include <string>

#include "core/spec/profile.hpp"

namespace pleat {

// Months of a release "nemo-25.11", "nemo-26.02.01", a commit's date "main-2026-07" or an arXiv
// number "… (2504.14960)", counted from 2000; nothing for other words.
[[nodiscard]] std::optional<int> month_of_era(const std::string& era);

// The profile with the constants of the run's era: the one of that name, else the last one before
// it, else those of the profile itself.
[[nodiscard]] Profile profile_of_era(const Profile&, const std::string& era);

}  // namespace pleat
