// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lengths of time as people type them.
#pragma once

#include <string>

namespace pleat::cli {

// Seconds of "90s", "15m", "2h", "1.5h", "3d" or "1h30m". ConfigError (bad_request, of `flag`) for
// other words, and for nothing or more than a year.
[[nodiscard]] double read_duration(const std::string& text, const std::string& flag);

}  // namespace pleat::cli
