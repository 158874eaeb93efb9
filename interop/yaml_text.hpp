// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The part of YAML that configurations of training are written in: mappings and lists by
// indentation or in brackets, quotes, comments. Scalars stay text; tags and anchors are left out.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

// Every scalar is a string. Throws ConfigError (bad_file, at `where` and a line) for what is no
// such text.
[[nodiscard]] JsonValue read_yaml(const std::string& text, const std::string& where);

}  // namespace pleat::interop
