// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From tokens back to text, and GPT-2's printable alphabet for bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pleat {

// GPT-2's alphabet: a printable character for each byte, so that any bytes make a readable token.

// UTF-8 of the character that stands for each byte.
[[nodiscard]] const std::array<std::string, 256>& byte_alphabet();

// The bytes that a token spells; nothing if it has a character outside the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_alphabet(std::string_view spelling);

// From tokens back to text, for people to read.

struct DecodeByteLevel {};
struct DecodeReplace {
  std::string from, to;
};
struct DecodeByteFallback {};  // "<0xE4>" and its neighbours become characters
struct DecodeFuse {};
struct DecodeStrip {  // up to so many of a character from each token
  std::string content;
  int start = 0, stop = 0;
};
struct DecodeMetaspace {
  std::string replacement;
  bool drops_first_space = true;
};

using DecodeStep = std::variant<DecodeByteLevel, DecodeReplace, DecodeByteFallback, DecodeFuse,
                                DecodeStrip, DecodeMetaspace>;

// The tokens' spellings through all steps, joined; with blanks between them if there is no step.
// Always valid UTF-8.
[[nodiscard]] std::string decode_tokens(const std::vector<DecodeStep>&,
                                        std::vector<std::string> tokens);

}  // namespace pleat
