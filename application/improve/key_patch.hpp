// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Keys changed in a file of TOML, YAML or JSON as it stands: the value where it is written, a new
// key in its section. Comments and order stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pleat {

enum class KeySyntax : unsigned char { toml, yaml, json };

struct KeyChange {
  std::string path;                  // "parallelism.tensor_parallel_degree"
  std::optional<std::string> value;  // "4", "true", "always", "\"bf16\""; nothing: without the key
  bool operator==(const KeyChange&) const = default;
};

// The text with the changes that could be made.
[[nodiscard]] std::string change_keys(const std::string& text, KeySyntax,
                                      const std::vector<KeyChange>&);

}  // namespace pleat
