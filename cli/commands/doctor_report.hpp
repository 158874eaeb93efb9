// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What `pleat doctor` found, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "application/doctor/machine_checks.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

[[nodiscard]] std::string doctor_text(const std::vector<MachineCheck>&, std::size_t columns);
[[nodiscard]] JsonValue doctor_json(const std::vector<MachineCheck>&, const std::string& version);

}  // namespace pleat::cli
