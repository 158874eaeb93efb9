// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/decoder.hpp"

#include <charconv>
#include <optional>
#include <vector>

#include "backend/data/tokenizer/normalizer.hpp"
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
  static const std::vector<std::int16_t> bytes = [] {  // by character; -1: not of the alphabet
    std::vector<std::int16_t> table;
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const std::size_t c = character_of(b, next);
      if (c >= table.size()) table.resize(c + 1, -1);
      table[c] = static_cast<std::int16_t>(b);
    }
    return table;
  }();
  std::string text;
  for (std::size_t at = 0; at < spelling.size();) {
    const CodePoint c = decode_utf8(spelling, at);
    at += c.bytes;
    if (c.value >= bytes.size() || bytes[c.value] < 0) return std::nullopt;
    text += static_cast<char>(bytes[c.value]);
  }
  return text;
}

namespace {

using Tokens = std::vector<std::string>;

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& t : tokens) text += t;
  return text;
}

std::size_t bytes_of(const Tokens& tokens) {
  std::size_t bytes = 0;
  for (const std::string& t : tokens) bytes += t.size();
  return bytes;
}

std::string repaired(const std::string& text) {
  std::string storage;
  return std::string(valid_utf8(text, storage));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  const std::size_t most = most_bytes_of(text.size());
  std::string result;
  std::size_t kept = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, kept)) {
    result.append(text, kept, at - kept).append(to);
    require_growth(result.size(), most, "decoder");
    kept = at + from.size();
  }
  text = result.append(text, kept);
}

std::optional<char> fallback_byte(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

void apply(DecodeByteLevel, Tokens& tokens) {
  for (std::string& t : tokens) {
    if (const auto bytes = bytes_of_alphabet(t)) t = *bytes;
  }
  tokens = {repaired(joined(tokens))};
}

void apply(const DecodeReplace& r, Tokens& tokens) {
  for (std::string& t : tokens) replace_all(t, r.from, r.to);
}

// A run of bytes is text if it is valid, else one replacement character a byte.
void apply(DecodeByteFallback, Tokens& tokens) {
  Tokens out;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    if (repaired(run) == run) {
      out.push_back(run);
    } else {
      for (std::size_t i = 0; i < run.size(); ++i) out.emplace_back("\xEF\xBF\xBD");
    }
    run.clear();
  };
  for (std::string& t : tokens) {
    if (const auto byte = fallback_byte(t)) {
      run += *byte;
    } else {
      end_run();
      out.push_back(std::move(t));
    }
  }
  end_run();
  tokens = std::move(out);
}

void apply(DecodeFuse, Tokens& tokens) { tokens = {joined(tokens)}; }

void apply(const DecodeStrip& s, Tokens& tokens) {
  if (s.content.empty()) return;
  for (std::string& t : tokens) {
    for (int i = 0; i < s.start && t.starts_with(s.content); ++i) t.erase(0, s.content.size());
    for (int i = 0; i < s.stop && t.ends_with(s.content); ++i) t.erase(t.size() - s.content.size());
  }
}

void apply(const DecodeMetaspace& m, Tokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0 && m.drops_first_space && tokens[i].starts_with(m.replacement)) {
      tokens[i].erase(0, m.replacement.size());
    }
    replace_all(tokens[i], m.replacement, " ");
  }
}

}  // namespace

std::string decode_tokens(const std::vector<DecodeStep>& steps, Tokens tokens) {
  if (steps.empty()) {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, " ");
  }
  const std::size_t most = most_bytes_of(bytes_of(tokens));
  for (const DecodeStep& step : steps) {
    std::visit([&tokens](const auto& s) { apply(s, tokens); }, step);
    require_growth(bytes_of(tokens), most, "decoder");
  }
  return repaired(joined(tokens));
}

}  // namespace pleat
