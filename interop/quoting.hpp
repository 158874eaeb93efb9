// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Writes text from outside into files that shells, schedulers and parsers read, so that it stays
// text.
#pragma once

#include <string>

#include "core/json/json_value.hpp"

namespace pleat::interop {

// One word for a POSIX shell: unchanged if that is safe, else in single quotes. Throws ConfigError
// (bad_request, at `path`) for control characters, which no setting needs.
[[nodiscard]] std::string shell_word(const std::string& text, const std::string& path);

// A JSON string. YAML reads it, too, and so does TOML for all texts that Pleat writes.
[[nodiscard]] std::string json_string(const std::string& text);

// Text for a comment of one line: control characters become '?'.
[[nodiscard]] std::string one_line(const std::string& text);

// Whether a text is safe in an #SBATCH line: 1 to 128 of A-Z a-z 0-9 . _ - and first a letter or
// digit.
[[nodiscard]] bool is_plain_name(const std::string& text);

// Whether Kubernetes takes the text as a name: a DNS-1123 label (lower case letters, digits, and
// dashes inside), or with `dots` several labels with dots between them.
[[nodiscard]] bool is_dns_name(const std::string& text, bool dots);
// The text turned into such a label of at most 63 characters. It is never empty.
[[nodiscard]] std::string dns_label(const std::string& text);

// YAML in block style. Every string is in double quotes, so that none is read as a number, a
// boolean, a comment or a tag.
[[nodiscard]] std::string to_yaml(const JsonValue&);

}  // namespace pleat::interop
