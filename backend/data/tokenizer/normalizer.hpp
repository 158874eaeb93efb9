// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What happens to a text before it is cut into words.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "backend/data/tokenizer/regex.hpp"
#include "backend/data/tokenizer/unicode.hpp"

namespace pleat {

struct LowerCase {};
struct StripAccents {};  // combining marks of every kind go
struct StripEnds {
  bool left = true, right = true;
};
struct Replace {
  Regex pattern;
  std::string content;
};
struct Prepend {
  std::string text;  // before a text that is not empty
};

using NormalizeStep =
    std::variant<NormalForm, LowerCase, StripAccents, StripEnds, Replace, Prepend>;

// The steps in order.
void apply_normalizer(const std::vector<NormalizeStep>&, std::string& text);

}  // namespace pleat
