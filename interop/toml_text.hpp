// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// TOML as configurations of training are written in it, by toml++. Scalars become text.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

// Tables are objects, scalars strings ("true", "8", "0.5"). Throws ConfigError (bad_file, at
// `where` and a line) for what is no such text.
[[nodiscard]] JsonValue read_toml(const std::string& text, const std::string& where);

}  // namespace pleat::interop
