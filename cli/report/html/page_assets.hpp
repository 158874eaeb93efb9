// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// page.css and page.js of this folder as text; CMake writes the definitions.
#pragma once

#include <string_view>

namespace pleat::cli {

extern const std::string_view kPageStyle, kPageScript;

}  // namespace pleat::cli
