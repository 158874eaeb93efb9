// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/pre_tokenizer.hpp"

#include <algorithm>

#include "backend/data/tokenizer/unicode.hpp"

namespace pleat {
namespace {

using List = std::vector<std::string_view>;

struct Part {
  std::size_t begin, end;
  bool delimiter;
};

void add(std::vector<Part>& parts, Part part, bool joins_last) {
  if (joins_last && !parts.empty()) {
    parts.back().end = part.end;
  } else {
    parts.push_back(part);
  }
}

// Which parts become pieces, for a list of parts that covers the text.
void emit(std::string_view text, std::vector<Part>& parts, SplitBehavior behavior, List& out) {
  std::vector<Part> joined;
  const std::vector<Part>* result = &joined;
  switch (behavior) {
    case SplitBehavior::removed:
      parts.erase(
          std::remove_if(parts.begin(), parts.end(), [](const Part& p) { return p.delimiter; }),
          parts.end());
      result = &parts;
      break;
    case SplitBehavior::isolated:
      result = &parts;
      break;
    case SplitBehavior::contiguous:
      for (const Part& p : parts)
        add(joined, p, !joined.empty() && joined.back().delimiter == p.delimiter);
      break;
    case SplitBehavior::merged_with_previous: {
      bool previous = false;
      for (const Part& p : parts) {
        add(joined, p, p.delimiter && !previous);
        previous = p.delimiter;
      }
      break;
    }
    case SplitBehavior::merged_with_next: {
      bool following = false;
      for (auto p = parts.rbegin(); p != parts.rend(); ++p) {
        if (p->delimiter && !following && !joined.empty()) {
          joined.back().begin = p->begin;
        } else {
          joined.push_back(*p);
        }
        following = p->delimiter;
      }
      std::reverse(joined.begin(), joined.end());
      break;
    }
  }
  for (const Part& p : *result) {
    if (p.begin != p.end) out.push_back(text.substr(p.begin, p.end - p.begin));
  }
}

void split_parts(const Split& s, std::string_view text, std::vector<Part>& parts) {
  parts.clear();
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const std::optional<Match> m = s.pattern.find(text, from);
    if (!m) break;
    if (m->begin > done) parts.push_back({done, m->begin, s.invert});
    parts.push_back({m->begin, m->end, !s.invert});
    done = m->end;
    from = m->end;
    if (m->begin == m->end) from += from < text.size() ? decode_utf8(text, from).bytes : 1;
  }
  if (done < text.size()) parts.push_back({done, text.size(), s.invert});
}

// Each code point a part; `is_delimiter` of its value.
template <class Property>
void property_parts(std::string_view text, Property is_delimiter, std::vector<Part>& parts) {
  parts.clear();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (is_delimiter(c.value)) {
      if (begin < at) parts.push_back({begin, at, false});
      parts.push_back({at, at + c.bytes, true});
      begin = at + c.bytes;
    }
    at += c.bytes;
  }
  if (begin < text.size()) parts.push_back({begin, text.size(), false});
}

// The hot case of byte-level tokenizers: every part is a piece, so no list of parts is made.
void cut_isolated(const Split& s, std::string_view text, List& out) {
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::optional<Match> m = s.pattern.find(text, from);
    if (!m) break;
    if (m->begin > done) out.push_back(text.substr(done, m->begin - done));
    if (m->end > m->begin) out.push_back(text.substr(m->begin, m->end - m->begin));
    done = m->end;
    from = m->end;
    if (m->begin == m->end && from < text.size()) from += decode_utf8(text, from).bytes;
  }
  if (done < text.size()) out.push_back(text.substr(done));
}

void cut(const Split& s, std::string_view text, Pieces&, List& out) {
  if (s.behavior == SplitBehavior::isolated) return cut_isolated(s, text, out);
  std::vector<Part> parts;
  split_parts(s, text, parts);
  emit(text, parts, s.behavior, out);
}

void cut(const SplitDigits& s, std::string_view text, Pieces&, List& out) {
  std::vector<Part> parts;
  property_parts(text, is_numeric, parts);
  emit(text, parts, s.each ? SplitBehavior::isolated : SplitBehavior::contiguous, out);
}

void cut(const SplitPunctuation& s, std::string_view text, Pieces&, List& out) {
  std::vector<Part> parts;
  property_parts(text, is_punctuation, parts);
  emit(text, parts, s.behavior, out);
}

void cut(const SplitWhitespace& s, std::string_view text, Pieces&, List& out) {
  std::vector<Part> parts;
  property_parts(text, is_white_space, parts);
  if (!s.words) return emit(text, parts, SplitBehavior::removed, out);
  List words;
  emit(text, parts, SplitBehavior::removed, words);
  for (const std::string_view word : words) {
    property_parts(word, is_word, parts);
    emit(word, parts, SplitBehavior::contiguous, out);
  }
}

void cut(const AddPrefixSpace&, std::string_view text, Pieces& pieces, List& out) {
  if (text.front() == ' ') {
    out.push_back(text);
  } else {
    out.push_back(pieces.changed.emplace_back(" " + std::string(text)));
  }
}

void cut(const Metaspace& m, std::string_view text, Pieces& pieces, List& out) {
  std::string& changed = pieces.changed.emplace_back();
  for (const char c : text) {
    if (c == ' ') {
      changed += m.replacement;
    } else {
      changed += c;
    }
  }
  const bool first = pieces.at_start && text.data() == pieces.list.front().data();
  const bool wants =
      m.prepend == Metaspace::Prepend::always || (m.prepend == Metaspace::Prepend::first && first);
  if (wants && !changed.starts_with(m.replacement)) changed.insert(0, m.replacement);
  if (!m.split) return out.push_back(changed);
  const Split split{Regex::literal(m.replacement), SplitBehavior::merged_with_next, false};
  cut(split, changed, pieces, out);
}

}  // namespace

void apply_pre_tokenizer(const std::vector<PreTokenizeStep>& steps, Pieces& pieces) {
  List next;
  for (const PreTokenizeStep& step : steps) {
    next.clear();
    for (const std::string_view piece : pieces.list) {
      std::visit([&](const auto& s) { cut(s, piece, pieces, next); }, step);
    }
    std::swap(pieces.list, next);
  }
}

}  // namespace pleat
