// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in a text before anything else is done to it: special tokens, and what was
// added to a vocabulary after its training.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pleat {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;             // only where no word character is next to it
  bool lstrip = false, rstrip = false;  // takes the white space on that side with it
  bool normalized = false;              // looked for in the normalized text
  bool special = false;
};

// A stretch of a text: a token, or text between tokens (id -1).
struct Section {
  std::int32_t id = -1;
  std::size_t begin = 0, end = 0;
};

class AddedTokens {
 public:
  // contents[i]: how tokens[i] is spelled in the texts to search.
  AddedTokens(std::vector<AddedToken> tokens, std::vector<std::string> contents);

  // Sections that cover the text, in order; the leftmost match wins, then the longest.
  void split(std::string_view text, std::vector<Section>& sections) const;
  [[nodiscard]] bool empty() const { return tokens_.empty(); }

 private:
  // The token that begins at `at`: its index, or -1.
  [[nodiscard]] int match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<std::string> contents_;
  std::array<std::vector<int>, 256> by_first_byte_;  // indices, the longest content first
  std::string first_bytes_;
};

}  // namespace pleat
