// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a normalized text is cut into the words that byte pair encoding works in.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/data/tokenizer/regex.hpp"

namespace pleat {

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct Split {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // what does not match is the delimiter
};
// Cuts between code points by a property.
struct SplitDigits {
  bool each = false;  // every digit alone, or runs of them
};
struct SplitWhitespace {
  bool words = false;  // then also between \w and the rest
};
struct SplitPunctuation {
  SplitBehavior behavior = SplitBehavior::isolated;
};
struct AddPrefixSpace {};  // a space before each piece without one
struct Metaspace {
  enum class Prepend { always, first, never };
  std::string replacement;
  Prepend prepend = Prepend::always;
  bool split = true;
};

using PreTokenizeStep =
    std::variant<Split, SplitDigits, SplitWhitespace, SplitPunctuation, AddPrefixSpace, Metaspace>;

// Pieces of a text, and the storage of those that are no longer part of it.
struct Pieces {
  std::vector<std::string_view> list;
  std::deque<std::string> changed;
  bool at_start = true;  // the text is the first of its document (Metaspace's "first")
};

// Each step cuts every piece that the ones before it left; no piece is empty.
void apply_pre_tokenizer(const std::vector<PreTokenizeStep>&, Pieces&);

}  // namespace pleat
