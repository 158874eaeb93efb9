// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where training text comes from: a file, or the Bible as Debian's bible-kjv package prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pleat {

// The bytes of a file. Throws ConfigError when it cannot be read or is empty.
[[nodiscard]] std::vector<std::uint8_t> load_text(const std::filesystem::path&);

// Output of `bible gen1:1-rev22:21`, kept in cache_directory/bible-kjv.txt after the first call.
// Throws ConfigError when the program is missing or fails.
[[nodiscard]] std::vector<std::uint8_t> default_text(const std::filesystem::path& cache_directory);

// What a program prints, run without a shell; throws ConfigError when it cannot run or fails.
[[nodiscard]] std::vector<std::uint8_t> output_of(const std::vector<std::string>& command);

}  // namespace pleat
