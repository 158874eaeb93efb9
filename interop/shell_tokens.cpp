// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/shell_tokens.hpp"

#include <algorithm>
#include <array>

namespace pleat::interop {
namespace {

// "NAME=" or "NAME+=", with which an array may begin.
bool opens_array(std::string_view word) {
  if (word.size() < 2 || word.back() != '=') return false;
  word.remove_suffix(word[word.size() - 2] == '+' ? 2 : 1);
  return !word.empty() && !is_shell_digit(word.front()) && std::ranges::all_of(word, is_shell_name);
}

class Cutter {
 public:
  // `in_array`: between an array's brackets, where no other array begins.
  explicit Cutter(std::string_view text, bool in_array = false)
      : text_(text), in_array_(in_array) {}

  std::vector<ShellToken> cut() {
    while (at_ < text_.size()) next();
    take_heredocs();
    return std::move(out_);
  }

 private:
  struct Awaited {
    std::string end;
    bool literal = false, indented = false;
  };

  [[nodiscard]] bool has(std::string_view what) const {
    return text_.substr(at_, what.size()) == what;
  }
  void op(std::string_view what) {
    out_.push_back({ShellToken::Kind::op, std::string(what)});
    at_ += what.size();
  }

  void next() {
    const char c = text_[at_];
    if (is_shell_blank(c)) {
      ++at_;
    } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      at_ += 2;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      out_.push_back({ShellToken::Kind::op, ";"});
      ++at_;
      take_heredocs();
    } else if (has("((") && (out_.empty() || starts_command())) {
      take_arithmetic();
    } else if (redirects()) {
      // taken
    } else if (const auto known =
                   std::ranges::find_if(kOperators, [&](std::string_view o) { return has(o); });
               known != kOperators.end()) {
      op(*known);
    } else {
      take_word();
    }
  }

  static constexpr std::array<std::string_view, 8> kOperators{";;", "&&", "||", ";",
                                                              "&",  "|",  "(",  ")"};

  // Whether a command may begin here.
  [[nodiscard]] bool starts_command() const {
    const ShellToken& last = out_.back();
    if (last.kind == ShellToken::Kind::op) return true;
    static constexpr std::array<std::string_view, 9> kBefore{"if", "elif", "while", "until", "then",
                                                             "do", "else", "!",     "for"};
    return last.kind == ShellToken::Kind::word &&
           std::ranges::find(kBefore, last.text) != kBefore.end();
  }

  void take_arithmetic() {
    const std::size_t begin = at_ + 2;
    int depth = 2;
    for (at_ = begin; at_ < text_.size() && depth > 0; ++at_)
      depth += (text_[at_] == '(') - (text_[at_] == ')');
    const std::size_t end = depth == 0 ? at_ - 2 : text_.size();
    out_.push_back({ShellToken::Kind::arithmetic,
                    std::string(text_.substr(begin, std::max(end, begin) - begin))});
  }

  // "2>&1", "> file", "<<EOF", "<<< word"; their targets are no words of the command.
  bool redirects() {
    std::size_t i = at_;
    if (i < text_.size() && text_[i] == '&' && i + 1 < text_.size() && text_[i + 1] == '>') ++i;
    while (i < text_.size() && is_shell_digit(text_[i])) ++i;
    if (i >= text_.size() || (text_[i] != '<' && text_[i] != '>')) return false;
    if (text_.substr(i, 2) == "<<" && text_.substr(i, 3) != "<<<") {
      at_ = i + 2;
      await_heredoc();
      return true;
    }
    while (i < text_.size() && (text_[i] == '<' || text_[i] == '>' || text_[i] == '|')) ++i;
    if (i < text_.size() && text_[i] == '&') ++i;
    at_ = i;
    while (at_ < text_.size() && is_shell_blank(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '(')
      at_ = after_quoted(text_, at_);
    else
      static_cast<void>(word_text());
    return true;
  }

  void await_heredoc() {
    Awaited a;
    if (at_ < text_.size() && text_[at_] == '-') {
      a.indented = true;
      ++at_;
    }
    while (at_ < text_.size() && is_shell_blank(text_[at_])) ++at_;
    for (const char c : word_text()) {
      if (c == '\'' || c == '"' || c == '\\')
        a.literal = true;
      else
        a.end += c;
    }
    awaited_.push_back(std::move(a));
  }

  // Their bodies begin after the line; the tokens stand before the line's end.
  void take_heredocs() {
    for (const Awaited& a : awaited_) {
      ShellToken body{ShellToken::Kind::heredoc, ""};
      body.literal = a.literal;
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        if (a.indented) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        if (line == a.end) break;
        body.text += std::string(line) + "\n";
      }
      const bool at_line_end =
          !out_.empty() && out_.back().kind == ShellToken::Kind::op && out_.back().text == ";";
      out_.insert(at_line_end ? out_.end() - 1 : out_.end(), std::move(body));
    }
    awaited_.clear();
  }

  [[nodiscard]] bool begins_array(std::string_view word) const {
    return !in_array_ && opens_array(word);
  }

  // From at_ to the end of a word, quotes and all.
  std::string word_text() {
    const std::size_t begin = at_;
    std::string word;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_shell_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == ')' ||
          c == '<' || c == '>')
        break;
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        at_ += 2;
        continue;
      }
      if (c == '(') {
        if (begins_array(word) || at_ == begin) break;  // an array, or an operator
        if (!word.empty() &&
            std::ranges::all_of(word, [](char w) { return is_shell_name(w) || w == '-'; }))
          break;  // of a function
      }
      const std::size_t end = after_quoted(text_, at_);
      word += text_.substr(at_, end - at_);
      at_ = end;
    }
    return word;
  }

  void take_word() {
    const std::size_t before = at_;
    std::string word = word_text();
    if (begins_array(word) && at_ < text_.size() && text_[at_] == '(') {
      const std::size_t begin = at_ + 1, end = after_quoted(text_, at_);
      at_ = end;
      ShellToken array{ShellToken::Kind::array, std::move(word)};
      const std::string_view inside =
          text_.substr(begin, std::max(end, begin + 1) - begin - (text_[end - 1] == ')' ? 1 : 0));
      for (ShellToken& t : Cutter(inside, true).cut())
        if (t.kind == ShellToken::Kind::word) array.items.push_back(std::move(t.text));
      out_.push_back(std::move(array));
      return;
    }
    if (at_ == before) {  // nothing that a word begins with
      ++at_;
      return;
    }
    out_.push_back({ShellToken::Kind::word, std::move(word)});
  }

  std::string_view text_;
  bool in_array_;
  std::size_t at_ = 0;
  std::vector<ShellToken> out_;
  std::vector<Awaited> awaited_;
};

}  // namespace

std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && is_shell_name(word[end])) ++end;
  if (end == 0 || (word[0] >= '0' && word[0] <= '9')) return 0;
  if (end < word.size() && word[end] == '[') {
    const std::size_t close = word.find(']', end);
    if (close == std::string_view::npos) return 0;
    end = close + 1;
  }
  const std::string_view rest = word.substr(end);
  return rest.starts_with("=") || rest.starts_with("+=") ? end : 0;
}

std::size_t after_quoted(std::string_view text, std::size_t at) {
  constexpr int kDepth = 200;
  std::vector<char> open;  // what closes the quotes and brackets that are open
  do {
    const char c = text[at];
    const char inside = open.empty() ? '\0' : open.back();
    if (inside == '\'') {
      if (c == '\'') open.pop_back();
    } else if (c == '\\') {
      if (at + 1 < text.size()) ++at;
    } else if (!open.empty() && c == inside) {
      open.pop_back();
    } else if (c == '`' || (inside != '"' && c == '"')) {
      open.push_back(c);
    } else if (inside != '"' && c == '\'' && inside != '`') {
      open.push_back(c);
    } else if (c == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{')) {
      open.push_back(text[at + 1] == '(' ? ')' : '}');
      ++at;
    } else if (c == '(' && (open.empty() || inside == ')')) {
      open.push_back(')');
    } else if (inside == ')' && c == '#' && at > 0 &&
               (is_shell_blank(text[at - 1]) || text[at - 1] == '\n')) {
      at = std::min(text.find('\n', at), text.size() - 1);
    }
    ++at;
  } while (at < text.size() && !open.empty() && open.size() < kDepth);
  return std::min(at, text.size());
}

std::vector<ShellToken> shell_tokens(const std::string& text) { return Cutter(text).cut(); }

}  // namespace pleat::interop
