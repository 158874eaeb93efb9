// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// YAML from a tree: block style, every string in double quotes (JSON's), so that none is read as a
// number, a boolean, a comment or a tag.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

[[nodiscard]] std::string to_yaml(const JsonValue&);

}  // namespace pleat::interop
