// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Flags changed in a file as it stands: where a value is written, or in the variable that holds it.
#pragma once

#include <string>
#include <vector>

#include "application/improve/flag_changes.hpp"

namespace pleat {

// The text with the changes that could be made. `yaml`: "--flag: value" lines.
[[nodiscard]] std::string change_flags(const std::string& text, bool yaml,
                                       const std::vector<FlagChange>&);

// A unified diff with three lines around each change; empty where nothing differs.
[[nodiscard]] std::string unified_diff(const std::string& before, const std::string& after,
                                       const std::string& name);

}  // namespace pleat
