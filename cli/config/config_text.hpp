// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The text of the file of option defaults, changed a line at a time so that all else of it stays.
#pragma once

#include <string>

namespace pleat::cli {

// Keys are "cluster", or with their section "plan.top" and "data.make.out".

// The line of a key, from 1; 0: it is not there.
[[nodiscard]] int line_of(const std::string& text, const std::string& key);

// With the key at this value: in its line, else behind the last line of its section.
[[nodiscard]] std::string with_value(const std::string& text, const std::string& key,
                                     const std::string& value);

// Without the lines of the key.
[[nodiscard]] std::string without_key(const std::string& text, const std::string& key);

// As TOML has it: numbers, true and false are bare, all else is in quotes. Throws ConfigError for
// what the reader of the file cannot read back.
[[nodiscard]] std::string toml_value(const std::string& value);

}  // namespace pleat::cli
