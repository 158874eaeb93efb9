// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grammar, length bound and structural facts of layout strings; nothing here allocates.
#include "core/plan/layout_text.hpp"

#include <algorithm>

#include "core/plan/layout.hpp"

namespace pleat {
namespace layout_text {

std::int64_t read_repeat(std::string_view text, std::size_t& at) {
  if (peek(text, at) != '*') return 1;
  ++at;
  std::int64_t n = -1;
  for (char c = peek(text, at); c >= '0' && c <= '9'; c = peek(text, at)) {
    constexpr auto cap = static_cast<std::int64_t>(kMaxLayoutLength) + 1;
    n = std::min(cap, std::max<std::int64_t>(n, 0) * 10 + (c - '0'));
    ++at;
  }
  return n;
}

}  // namespace layout_text

namespace {

using layout_text::peek;
using layout_text::read_repeat;

bool is_symbol(char c) { return c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|'; }

constexpr const char* kTooLong = "expanded layout longer than 100000";
static_assert(kMaxLayoutLength == 100'000, "kTooLong names the limit");

struct Counter {
  std::int64_t length = 0;
  LayoutSyntax result;

  bool fail(const char* problem, std::size_t position, ExitCode code = ExitCode::bad_request) {
    result = {problem, position, code};
    return false;
  }
  // "*n" after an atom or a group of `unit` symbols.
  bool repeat(std::string_view text, std::size_t& at, std::int64_t unit, std::int64_t& sum) {
    const std::size_t star = at;
    const std::int64_t n = read_repeat(text, at);
    if (n == -1) return fail("'*' needs a count", star);
    if (n == 0) return fail("a repeat count must be at least 1", star);
    sum += unit * n;  // both at most 100001
    if (sum > static_cast<std::int64_t>(kMaxLayoutLength)) {
      return fail(kTooLong, star, ExitCode::bad_file);
    }
    return true;
  }
  bool group(std::string_view text, std::size_t& at) {
    const std::size_t open = at++;
    std::int64_t inside = 0;
    for (char c = peek(text, at); c != ')'; c = peek(text, at)) {
      if (at >= text.size()) return fail("'(' without ')'", open);
      if (c == '(') return fail("groups do not nest", at);
      if (!is_symbol(c)) return fail("unknown symbol; known: E t m L | ( ) * ,", at);
      if (!repeat(text, ++at, 1, inside)) return false;
    }
    if (inside == 0) return fail("an empty group", open);
    if (peek(text, ++at) != '*') return fail("a group needs a count: (…)*n", open);
    return repeat(text, at, inside, length);
  }
  bool run(std::string_view text) {
    std::size_t at = 0;
    for (char c = peek(text, at); at < text.size(); c = peek(text, at)) {
      if (c == '(') {
        if (!group(text, at)) return false;
      } else if (c == ')') {
        return fail("')' without '('", at);
      } else if (c == '*') {
        return fail("'*' must follow a symbol or a group", at);
      } else if (!is_symbol(c)) {
        return fail("unknown symbol; known: E t m L | ( ) * ,", at);
      } else if (!repeat(text, ++at, 1, length)) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace

LayoutSyntax check_layout_syntax(std::string_view layout) {
  if (layout.size() > kMaxLayoutLength) return {kTooLong, kMaxLayoutLength, ExitCode::bad_file};
  Counter counter;
  counter.run(layout);
  return counter.result;
}

LayoutFacts read_layout_facts(std::string_view well_formed) {
  LayoutFacts f;
  f.end = well_formed.size();
  std::size_t pending_loss = kNowhere;  // an L that nothing has followed yet
  for_each_symbol(well_formed, [&](char symbol, std::size_t at) {
    if (pending_loss != kNowhere && f.misplaced_loss == kNowhere) f.misplaced_loss = pending_loss;
    switch (symbol) {
      case 'E':
        f.embedding = true;
        if (f.symbols > 0 && f.misplaced_embedding == kNowhere) f.misplaced_embedding = at;
        break;
      case 't':
        ++f.layers;
        f.last_layer = at;
        if (f.mtp != kNowhere && f.layer_after_mtp == kNowhere) f.layer_after_mtp = at;
        break;
      case 'm':
        if (f.mtp == kNowhere) {
          f.mtp = at;
          f.mtp_stage = f.stages - 1;
        } else if (f.stages - 1 != f.mtp_stage && f.split_mtp == kNowhere) {
          f.split_mtp = at;
        }
        break;
      case 'L':
        ++f.losses;
        if (f.loss == kNowhere) f.loss = at;
        pending_loss = at;
        break;
      default:  // '|', the only other symbol of a well-formed layout
        ++f.stages;
        f.last_bar = at;
        break;
    }
    ++f.symbols;
  });
  return f;
}

unsigned layout_faults(const LayoutFacts& f, const LayoutExpectation& want) {
  unsigned faults = 0;
  if (!f.embedding) faults |= kNoEmbedding;
  if (f.misplaced_embedding != kNowhere) faults |= kMisplacedEmbedding;
  if (f.losses == 0) faults |= kNoLoss;
  if (f.misplaced_loss != kNowhere) faults |= kMisplacedLoss;
  if (f.layers != want.layers) faults |= kLayerCount;
  if (f.stages != want.pp * want.vpp) faults |= kStageCount;
  if (want.mtp && f.mtp == kNowhere) faults |= kMtpMissing;
  if (!want.mtp && f.mtp != kNowhere) faults |= kMtpUnexpected;
  if (f.layer_after_mtp != kNowhere) faults |= kLayerAfterMtp;
  if (f.split_mtp != kNowhere) faults |= kMtpSplit;
  if (want.mtp && f.mtp != kNowhere && !(faults & kStageCount) &&
      f.mtp_stage < want.pp * (want.vpp - 1)) {
    faults |= kMtpEarly;
  }
  return faults;
}

}  // namespace pleat
