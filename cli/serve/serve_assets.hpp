// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// serve.html, serve.css and serve.js of this folder as text; CMake writes the definitions.
#pragma once

#include <string_view>

namespace pleat::cli {

extern const std::string_view kServePage, kServeStyle, kServeScript;

}  // namespace pleat::cli
