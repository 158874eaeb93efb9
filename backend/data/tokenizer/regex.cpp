// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "backend/data/tokenizer/regex.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <cctype>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// \s is White_Space and \w is letters, marks, decimal digits and connectors for Oniguruma; PCRE2's
// own classes differ by a few code points.
constexpr const char* kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr const char* kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";

// Rewrites a pattern of Oniguruma for PCRE2. `problem` gets what cannot be rewritten.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {
    while (at_ < pattern_.size() && problem.empty()) step();
  }
  std::string text, problem;

 private:
  void step() {
    const char c = pattern_[at_];
    if (c == '\\') return escape();
    if (in_class_) {
      if (c == ']') in_class_ = false;
      if (c == '[' && pattern_.substr(at_, 2) != "[:") problem = "a class within a class";
      if (pattern_.substr(at_, 2) == "&&") problem = "&& within a class";
      return copy(1);
    }
    if (c == '[') {
      in_class_ = true;
      copy(1);
      if (here() == '^') copy(1);
      if (here() == ']') copy(1);
      return;
    }
    if (c == '}' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] == '+') {
      problem = "'+' behind an interval";  // possessive for one, a repetition for the other
    }
    copy(1);
  }

  void escape() {
    const char c = at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
    const char* set = c == 's' || c == 'S' ? kSpace : c == 'w' || c == 'W' ? kWord : nullptr;
    const bool negated = c == 'S' || c == 'W';
    if (set != nullptr && !(in_class_ && negated)) {
      if (in_class_) {
        text += set;
      } else {
        text += std::string(negated ? "[^" : "[") + set + "]";
      }
      at_ += 2;
    } else if (set != nullptr || c == 'h' || c == 'H' || c == 'K' || c == 'X') {
      problem = fmt::format("\\{}{}", c, set != nullptr ? " within a class" : "");
    } else if (c == 'u') {
      text += fmt::format("\\x{{{}}}", pattern_.substr(at_ + 2, 4));
      at_ = std::min(pattern_.size(), at_ + 6);
    } else if ((c == 'p' || c == 'P' || c == 'x') && pattern_.substr(at_ + 2).starts_with('{')) {
      const std::size_t end = pattern_.find('}', at_);
      copy(end == std::string_view::npos ? pattern_.size() - at_ : end + 1 - at_);
    } else {
      copy(2);
    }
  }

  [[nodiscard]] char here() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }
  void copy(std::size_t n) {
    text += pattern_.substr(at_, n);
    at_ = std::min(pattern_.size(), at_ + n);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

// What matching needs besides the code: one a thread.
struct Scratch {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, 16 * 1024 * 1024, nullptr);
  Scratch() { pcre2_jit_stack_assign(context, nullptr, stack); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  std::string literal;  // instead of code
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(const std::string& pattern, const std::string& where, const std::string& path) {
  const Translation t(pattern);
  if (!t.problem.empty()) {
    throw_config_error(
        ExitCode::bad_file, where, path,
        fmt::format("the regular expression has {}, which is not supported", t.problem),
        "an expression without it");
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  const auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(t.text.data()), t.text.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (code->code == nullptr) {
    unsigned char message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    throw_config_error(ExitCode::bad_file, where, path,
                       fmt::format("not a regular expression: {} (near offset {})",
                                   reinterpret_cast<const char*>(message), offset));
  }
  code->jit = pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;
  code_ = code;
}

Regex Regex::literal(std::string_view text) {
  PLEAT_ASSERT(!text.empty());
  Regex regex;
  const auto code = std::make_shared<Code>();
  code->literal = text;
  regex.code_ = code;
  return regex;
}

std::optional<Match> Regex::find(std::string_view text, std::size_t from) const {
  if (code_->code == nullptr) {
    const std::size_t at = text.find(code_->literal, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{at, at + code_->literal.size()};
  }
  thread_local const Scratch scratch;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int result = code_->jit ? pcre2_jit_match(code_->code, subject, text.size(), from, 0,
                                                  scratch.data, scratch.context)
                                : pcre2_match(code_->code, subject, text.size(), from,
                                              PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw_config_error(ExitCode::bad_file, "", "",
                       fmt::format("a regular expression gave up (PCRE2 {})", result),
                       "a text without runs of millions of characters of one kind");
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch.data);
  return Match{ends[0], ends[1]};
}

}  // namespace pleat
