// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Colours for eyes: only where a terminal shows them, and nobody said NO_COLOR (no-color.org).
#pragma once

#include <string>

namespace pleat {

// Whether what is written to stdout or stderr may have colours.
[[nodiscard]] bool stdout_has_colours();
[[nodiscard]] bool stderr_has_colours();

// "error:", "warning:" and "hint:" at the beginning of lines.
[[nodiscard]] std::string colour_messages(const std::string& text);
// The first line of a report and the heads of its parts.
[[nodiscard]] std::string colour_report(const std::string& text);
// The heads of a command's help, and the names of options and commands.
[[nodiscard]] std::string colour_help(const std::string& text);

}  // namespace pleat
