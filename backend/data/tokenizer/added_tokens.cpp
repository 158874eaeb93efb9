// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "backend/data/tokenizer/unicode.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

bool word_touches(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && is_word(decode_utf8_before(text, begin).value)) ||
         (end < text.size() && is_word(decode_utf8(text, end).value));
}

std::size_t without_space_before(std::string_view text, std::size_t at) {
  while (at > 0) {
    const CodePoint c = decode_utf8_before(text, at);
    if (!is_white_space(c.value)) break;
    at -= c.bytes;
  }
  return at;
}

std::size_t without_space_after(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint c = decode_utf8(text, at);
    if (!is_white_space(c.value)) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::vector<std::string> contents)
    : tokens_(std::move(tokens)), contents_(std::move(contents)) {
  PLEAT_ASSERT(tokens_.size() == contents_.size());
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    if (contents_[i].empty()) continue;
    std::vector<int>& list = by_first_byte_[static_cast<std::uint8_t>(contents_[i][0])];
    if (list.empty()) first_bytes_ += contents_[i][0];
    list.push_back(static_cast<int>(i));
  }
  for (std::vector<int>& list : by_first_byte_) {
    std::stable_sort(list.begin(), list.end(), [this](int a, int b) {
      return contents_[static_cast<std::size_t>(a)].size() >
             contents_[static_cast<std::size_t>(b)].size();
    });
  }
}

int AddedTokens::match(std::string_view text, std::size_t at) const {
  for (const int i : by_first_byte_[static_cast<std::uint8_t>(text[at])]) {
    if (text.substr(at).starts_with(contents_[static_cast<std::size_t>(i)])) return i;
  }
  return -1;
}

void AddedTokens::split(std::string_view text, std::vector<Section>& sections) const {
  sections.clear();
  std::size_t done = 0, at = first_bytes_.empty() ? std::string_view::npos : 0;
  while (at < text.size()) {
    // One candidate byte ('<' as a rule) is found at the speed of memchr.
    at = first_bytes_.size() == 1 ? text.find(first_bytes_[0], at) : at;
    if (at == std::string_view::npos) break;
    const int found = match(text, at);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    std::size_t begin = at, end = at + contents_[static_cast<std::size_t>(found)].size();
    at = end;
    if (token.single_word && word_touches(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(done, without_space_before(text, begin));
    if (token.rstrip) end = without_space_after(text, end);
    if (done < begin) sections.push_back({-1, done, begin});
    sections.push_back({token.id, begin, end});
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) sections.push_back({-1, done, text.size()});
}

}  // namespace pleat
