// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Profiles: constants of a platform, eras, laws of kernels.
#include "core/spec/profile.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const Profile profile = read_profile(std::string(input), "profile.json");
  for (const Era& era : profile.eras) (void)for_era(profile, era.name);
  require(!profile.collectives.empty(), "a profile without collectives");
}

}  // namespace pleat::fuzz
