// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What profiles, tables, samples and the command line call collectives.
#pragma once

#include <array>

#include "core/spec/profile.hpp"

namespace pleat {

// In the order of the enum.
inline constexpr std::array<const char*, kCollectives> kCollectiveNames{
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send_recv"};

[[nodiscard]] constexpr const char* name_of(Collective c) {
  return kCollectiveNames[static_cast<std::size_t>(c)];
}

}  // namespace pleat
