// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// page.css, page.js and what_if.js of this folder and docs/glossary.md as text; CMake writes the
// definitions.
#pragma once

#include <string_view>

namespace pleat::cli {

extern const std::string_view kPageStyle, kPageScript, kWhatIfScript, kGlossary;

}  // namespace pleat::cli
