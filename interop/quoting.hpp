// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Foreign text in the files of shells, schedulers and parsers, and YAML that is made of it.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

// Foreign text inside files that a shell, a scheduler or a parser reads: quoted so that it stays
// text.

// A word of a POSIX shell: as it is where that is plain, else in single quotes. ConfigError
// (bad_request) at `path` for control characters, which no name of ours has.
[[nodiscard]] std::string shell_word(const std::string& text, const std::string& path);

// A JSON string, which is also a YAML and (for what we write) a TOML one.
[[nodiscard]] std::string json_string(const std::string& text);

// For lines that are comments in the file: control characters become '?'.
[[nodiscard]] std::string one_line(const std::string& text);

// [A-Za-z0-9._-]{1,128} and begins with a letter or digit: safe in #SBATCH lines.
[[nodiscard]] bool is_plain_name(const std::string& text);

// Whether Kubernetes takes it as a name: a DNS-1123 label, or with `dots` several of them with dots
// between. Lower case, digits, dashes inside.
[[nodiscard]] bool is_dns_name(const std::string& text, bool dots);
// A DNS-1123 label for Kubernetes: lower case, digits, dashes, at most 63; never empty.
[[nodiscard]] std::string dns_label(const std::string& text);

// YAML from a tree: block style, every string in double quotes (JSON's), so that none is read as a
// number, a boolean, a comment or a tag.

[[nodiscard]] std::string to_yaml(const JsonValue&);

}  // namespace pleat::interop
