// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads a layout string symbol by symbol without expanding it in memory, so that a plan with a
// layout is checked without an allocation and a huge repeat count costs nothing. Used by layout.cpp
// and the layout rule of the constraints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/diagnostics.hpp"

namespace pleat {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// Whether the string follows the grammar: ( x | x*n | (x…)*n )…, x one of E t m L |, commas
// ignored.
struct LayoutSyntax {
  const char* problem = nullptr;  // null: well-formed
  std::size_t position = 0;       // offset of the problem
  ExitCode code = ExitCode::bad_request;
};
[[nodiscard]] LayoutSyntax check_layout_syntax(std::string_view layout);

// What a layout should describe.
struct LayoutExpectation {
  std::int64_t layers = 0;
  bool mtp = false;
  std::int64_t pp = 1, vpp = 1;
};

// Ways in which a well-formed layout is no pipeline of the model; bits of a mask.
enum LayoutFault : unsigned {
  kNoEmbedding = 1u << 0,
  kMisplacedEmbedding = 1u << 1,
  kNoLoss = 1u << 2,
  kMisplacedLoss = 1u << 3,
  kLayerCount = 1u << 4,
  kStageCount = 1u << 5,
  kMtpMissing = 1u << 6,
  kMtpUnexpected = 1u << 7,
  kLayerAfterMtp = 1u << 8,
  kMtpSplit = 1u << 9,
  kMtpEarly = 1u << 10,
};
inline constexpr int kLayoutFaults = 11;

struct LayoutFacts {
  std::int64_t symbols = 0, layers = 0, stages = 1;
  bool embedding = false;
  std::int64_t losses = 0;
  std::size_t last_layer = kNowhere, last_bar = kNowhere, end = 0;
  std::size_t loss = kNowhere;                  // first L
  std::size_t misplaced_embedding = kNowhere;   // an E that is not the first symbol
  std::size_t misplaced_loss = kNowhere;        // an L that another symbol follows
  std::size_t mtp = kNowhere;                   // first m
  std::int64_t mtp_stage = -1;                  // its virtual stage
  std::size_t split_mtp = kNowhere;             // an m in another stage
  std::size_t layer_after_mtp = kNowhere;
};
[[nodiscard]] LayoutFacts read_layout_facts(std::string_view well_formed);
[[nodiscard]] unsigned layout_faults(const LayoutFacts&, const LayoutExpectation&);

namespace layout_text {

// The next character that is not a comma, or '\0'.
[[nodiscard]] inline char peek(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == ',') ++at;
  return at < text.size() ? text[at] : '\0';
}

// Reads "*n" if there is one; n is capped just above the limit. 1 without, -1 without digits.
[[nodiscard]] std::int64_t read_repeat(std::string_view text, std::size_t& at);

// Calls visit(symbol, offset) for the atoms of text[at, …) up to the end or a closing parenthesis.
template <class Visit>
void for_each_atom(std::string_view text, std::size_t& at, Visit&& visit) {
  for (char c = peek(text, at); c != '\0' && c != ')' && c != '('; c = peek(text, at)) {
    const std::size_t where = at++;
    const std::int64_t n = read_repeat(text, at);
    for (std::int64_t i = 0; i < n; ++i) visit(c, where);
  }
}

}  // namespace layout_text

// Calls visit(symbol, offset in the string) for each symbol of the expansion of a well-formed
// layout.
template <class Visit>
void for_each_symbol(std::string_view text, Visit&& visit) {
  std::size_t at = 0;
  while (layout_text::peek(text, at) != '\0') {
    if (text[at] != '(') {
      layout_text::for_each_atom(text, at, visit);
      continue;
    }
    const std::size_t inside = at + 1;
    std::size_t after = text.find(')', inside) + 1;
    const std::int64_t n = layout_text::read_repeat(text, after);
    for (std::int64_t i = 0; i < n; ++i) {
      at = inside;
      layout_text::for_each_atom(text, at, visit);
    }
    at = after;
  }
}

}  // namespace pleat
