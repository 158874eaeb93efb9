// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// UTF-8 and the Unicode properties that tokenizers ask for (ICU behind it).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pleat {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // of its UTF-8 form
};

// The code point that begins at `at`. The text must be valid UTF-8.
[[nodiscard]] CodePoint decode_utf8(std::string_view text, std::size_t at);
// The code point that ends just before `end` > 0.
[[nodiscard]] CodePoint decode_utf8_before(std::string_view text, std::size_t end);
void append_utf8(std::string& text, char32_t value);
[[nodiscard]] bool is_ascii(std::string_view text);

// The text itself if it is valid, else a copy in `storage` with U+FFFD for each maximal part of an
// ill-formed sequence (Unicode 15, section 3.9; what Python's errors="replace" gives).
[[nodiscard]] std::string_view valid_utf8(std::string_view text, std::string& storage);

[[nodiscard]] bool is_white_space(char32_t);  // White_Space
[[nodiscard]] bool is_numeric(char32_t);      // Nd, Nl, No
[[nodiscard]] bool is_punctuation(char32_t);  // P*, and ASCII's symbols
[[nodiscard]] bool is_word(char32_t);         // \w of UTS #18: Alphabetic, M, Nd, Pc, Join_Control
[[nodiscard]] bool is_mark(char32_t);         // Mn, Mc, Me

// Each code point's lower case by itself (no final sigma).
[[nodiscard]] std::string lower_case(std::string_view text);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// Replaces `text` by its normal form.
void normalize(NormalForm, std::string& text);

}  // namespace pleat
