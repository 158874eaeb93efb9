// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <cstdint>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xC0U) == 0x80;
}

// Bytes that a lead byte announces, and the range of its second byte; {0} for a byte that leads
// nothing. Unicode 15, table 3-7.
struct Lead {
  std::size_t bytes = 0;
  std::uint8_t low = 0x80, high = 0xBF;
};

Lead lead_of(std::uint8_t b) {
  if (b >= 0xC2 && b <= 0xDF) return {2};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};
  if (b >= 0xE1 && b <= 0xEF) return {3};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b >= 0xF1 && b <= 0xF3) return {4};
  if (b == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

struct Range {
  std::size_t bytes;
  bool valid;
};

// The well-formed sequence at `at`, or the maximal part of an ill-formed one (at least one byte).
Range part_at(std::string_view text, std::size_t at) {
  const std::uint8_t first = byte_at(text, at);
  if (first < 0x80) return {1, true};
  const Lead lead = lead_of(first);
  if (lead.bytes == 0 || at + 1 >= text.size()) return {1, false};
  const std::uint8_t second = byte_at(text, at + 1);
  if (second < lead.low || second > lead.high) return {1, false};
  std::size_t have = 2;
  while (have < lead.bytes && is_continuation(text, at + have)) ++have;
  return {have, have == lead.bytes};
}

std::size_t ascii_prefix(std::string_view text, std::size_t at) {
  while (at + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080ULL) != 0) break;
    at += 8;
  }
  while (at < text.size() && byte_at(text, at) < 0x80) ++at;
  return at;
}

const icu::Normalizer2& normalizer(NormalForm form) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* n = nullptr;
  switch (form) {
    case NormalForm::nfc:
      n = icu::Normalizer2::getNFCInstance(error);
      break;
    case NormalForm::nfd:
      n = icu::Normalizer2::getNFDInstance(error);
      break;
    case NormalForm::nfkc:
      n = icu::Normalizer2::getNFKCInstance(error);
      break;
    case NormalForm::nfkd:
      n = icu::Normalizer2::getNFKDInstance(error);
      break;
  }
  PLEAT_ASSERT(U_SUCCESS(error) != 0);
  return *n;
}

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const std::uint8_t b = byte_at(text, at);
  const auto tail = [&](std::size_t i) {
    return static_cast<char32_t>(byte_at(text, at + i) & 0x3FU);
  };
  if (b < 0x80) return {b, 1};
  if (b < 0xE0) return {(b & 0x1FU) << 6U | tail(1), 2};
  if (b < 0xF0) return {(b & 0x0FU) << 12U | tail(1) << 6U | tail(2), 3};
  return {(b & 0x07U) << 18U | tail(1) << 12U | tail(2) << 6U | tail(3), 4};
}

CodePoint decode_utf8_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && is_continuation(text, at)) --at;
  return decode_utf8(text, at);
}

void append_utf8(std::string& text, char32_t c) {
  const auto add = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return add(c);
  if (c < 0x800) {
    add(0xC0U | c >> 6U);
  } else if (c < 0x10000) {
    add(0xE0U | c >> 12U);
    add(0x80U | (c >> 6U & 0x3FU));
  } else {
    add(0xF0U | c >> 18U);
    add(0x80U | (c >> 12U & 0x3FU));
    add(0x80U | (c >> 6U & 0x3FU));
  }
  add(0x80U | (c & 0x3FU));
}

bool is_ascii(std::string_view text) { return ascii_prefix(text, 0) == text.size(); }

std::string_view valid_utf8(std::string_view text, std::string& storage) {
  std::size_t kept = 0;  // what `storage` has of the text
  bool changed = false;
  for (std::size_t at = ascii_prefix(text, 0); at < text.size(); at = ascii_prefix(text, at)) {
    const Range part = part_at(text, at);
    if (!part.valid) {
      if (!changed) storage.clear();
      changed = true;
      storage.append(text.substr(kept, at - kept));
      append_utf8(storage, 0xFFFD);
      kept = at + part.bytes;
    }
    at += part.bytes;
  }
  if (!changed) return text;
  storage.append(text.substr(kept));
  return storage;
}

bool is_white_space(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_WHITE_SPACE) != 0;
}

bool is_numeric(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK)) !=
         0;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > 0x20 && c < 0x7F && u_isalnum(static_cast<UChar32>(c)) == 0;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0;
}

bool is_word(char32_t c) {
  const auto u = static_cast<UChar32>(c);
  return u_hasBinaryProperty(u, UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(u, UCHAR_JOIN_CONTROL) != 0 ||
         (U_GET_GC_MASK(u) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

bool is_mark(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0; }

std::string lower_case(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    at += c.bytes;
    if (c.value == 0x130) {  // the one code point whose lower case is two of them
      lower += "i\xCC\x87";
    } else {
      append_utf8(lower, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c.value))));
    }
  }
  return lower;
}

void normalize(NormalForm form, std::string& text) {
  if (is_ascii(text)) return;
  const icu::Normalizer2& n = normalizer(form);
  UErrorCode error = U_ZERO_ERROR;
  if (n.isNormalizedUTF8(text, error) != 0) return;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, static_cast<std::int32_t>(text.size()));
  n.normalizeUTF8(0, text, sink, nullptr, error);
  PLEAT_ASSERT(U_SUCCESS(error) != 0);
  text = std::move(result);
}

}  // namespace pleat
