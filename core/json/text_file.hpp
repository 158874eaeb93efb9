// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole files as text, in bounded time and memory.
#pragma once

#include <cstddef>
#include <string>

#include "core/json/parse.hpp"

namespace pleat {

// Throws ConfigError: device_or_io with the system's reason when it cannot be read (also for a
// directory, FIFO or device), bad_file when it is larger than `limit`.
[[nodiscard]] std::string read_text_file(const std::string& path,
                                         std::size_t limit = kMaxFileBytes);

// Complete or not at all: writes beside the target, then renames. Throws ConfigError
// (device_or_io).
void write_text_file(const std::string& path, const std::string& text);

}  // namespace pleat
