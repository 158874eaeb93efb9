// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/normalizer.hpp"

namespace pleat {
namespace {

void apply(NormalForm form, std::string& text, std::size_t) { normalize(form, text); }

void apply(LowerCase, std::string& text, std::size_t) { text = lower_case(text); }

void apply(StripAccents, std::string& text, std::size_t) {
  if (is_ascii(text)) return;
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (!is_mark(c.value)) kept.append(text, at, c.bytes);
    at += c.bytes;
  }
  text = std::move(kept);
}

void apply(StripEnds ends, std::string& text, std::size_t) {
  std::size_t begin = 0, end = text.size();
  while (ends.left && begin < end) {
    const CodePoint c = decode_utf8(text, begin);
    if (!is_white_space(c.value)) break;
    begin += c.bytes;
  }
  while (ends.right && begin < end) {
    const CodePoint c = decode_utf8_before(text, end);
    if (!is_white_space(c.value)) break;
    end -= c.bytes;
  }
  text = text.substr(begin, end - begin);
}

void apply(const Replace& replace, std::string& text, std::size_t most) {
  std::optional<Match> match = replace.pattern.find(text, 0);
  if (!match) return;
  std::string result;
  std::size_t kept = 0;
  while (match) {
    result.append(text, kept, match->begin - kept);
    result += replace.content;
    require_growth(result.size(), most, "normalizer");
    kept = match->end;
    std::size_t from = match->end;
    if (match->begin == match->end) from += from < text.size() ? decode_utf8(text, from).bytes : 1;
    if (from > text.size()) break;
    match = replace.pattern.find(text, from);
  }
  text = result.append(text, kept);
}

void apply(const Prepend& prepend, std::string& text, std::size_t) {
  if (!text.empty()) text.insert(0, prepend.text);
}

}  // namespace

void apply_normalizer(const std::vector<NormalizeStep>& steps, std::string& text) {
  const std::size_t most = most_bytes_of(text.size());
  for (const NormalizeStep& step : steps) {
    std::visit([&](const auto& s) { apply(s, text, most); }, step);
    require_growth(text.size(), most, "normalizer");
  }
}

}  // namespace pleat
