// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// YAML as configurations of training are written in it, by yaml-cpp. Scalars stay text; what an
// anchor stands for is put in its places, up to a hundred thousand values.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

// Every scalar is a string. Throws ConfigError (bad_file, at `where` and a line) for what is no
// such text.
[[nodiscard]] JsonValue read_yaml(const std::string& text, const std::string& where);

}  // namespace pleat::interop
