// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/byte_alphabet.hpp"

#include <unordered_map>

#include "backend/data/tokenizer/unicode.hpp"

namespace pleat {
namespace {

// Printable Latin-1 stands for itself, the other bytes in order for U+0100 and what follows.
char32_t character_of(int byte, char32_t& next) {
  const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
  return printable ? static_cast<char32_t>(byte) : next++;
}

std::array<std::string, 256> make_alphabet() {
  std::array<std::string, 256> alphabet;
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b)
    append_utf8(alphabet[static_cast<std::size_t>(b)], character_of(b, next));
  return alphabet;
}

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
  static const std::array<std::string, 256> alphabet = make_alphabet();
  return alphabet;
}

std::optional<std::string> bytes_of_alphabet(std::string_view spelling) {
  static const auto bytes = [] {
    std::unordered_map<char32_t, char> map;
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) map[character_of(b, next)] = static_cast<char>(b);
    return map;
  }();
  std::string text;
  for (std::size_t at = 0; at < spelling.size();) {
    const CodePoint c = decode_utf8(spelling, at);
    at += c.bytes;
    const auto found = bytes.find(c.value);
    if (found == bytes.end()) return std::nullopt;
    text += found->second;
  }
  return text;
}

}  // namespace pleat
