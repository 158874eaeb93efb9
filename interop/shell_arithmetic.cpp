// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// $((…)): whole numbers, variables with and without a dollar, the operators of C but assignments.
#include <array>
#include <charconv>

#include "interop/shell_script.hpp"
#include "interop/shell_state.hpp"
#include "interop/shell_tokens.hpp"

namespace pleat::interop {
namespace {

using Number = std::optional<std::int64_t>;

class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {}

  Number read() {
    const Number value = choice(0);
    blanks();
    return at_ == text_.size() && !failed_ ? value : std::nullopt;
  }

 private:
  static constexpr int kDepth = 30;

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }
  bool takes(std::string_view what) {
    blanks();
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  Number fail() {
    failed_ = true;
    return std::nullopt;
  }

  Number choice(int depth) {
    const Number condition = binary(0, depth);
    if (failed_ || !takes("?")) return condition;
    const Number yes = choice(depth + 1);
    if (!takes(":")) return fail();
    const Number no = choice(depth + 1);
    return condition && *condition != 0 ? yes : no;
  }

  Number binary(std::size_t level, int depth) {
    using Row = std::array<std::string_view, 4>;
    static constexpr std::array<Row, 6> kLevels{Row{"||"},       Row{"&&"},
                                                Row{"==", "!="}, Row{"<=", ">=", "<", ">"},
                                                Row{"+", "-"},   Row{"*", "/", "%"}};
    if (depth > kDepth) return fail();
    if (level == kLevels.size()) return unary(depth + 1);
    Number left = binary(level + 1, depth);
    for (bool more = true; more && !failed_;) {
      more = false;
      for (const std::string_view op : kLevels[level]) {
        if (op.empty() || !takes(op)) continue;
        left = apply(op, left, binary(level + 1, depth));
        more = true;
        break;
      }
    }
    return left;
  }

  Number apply(std::string_view op, Number left, Number right) {
    if (!left || !right) return fail();
    const std::int64_t a = *left, b = *right;
    std::int64_t out = 0;
    if (op == "+") return __builtin_add_overflow(a, b, &out) ? fail() : Number(out);
    if (op == "-") return __builtin_sub_overflow(a, b, &out) ? fail() : Number(out);
    if (op == "*") return __builtin_mul_overflow(a, b, &out) ? fail() : Number(out);
    if (op == "/" || op == "%") {
      if (b == 0 || b == -1) return b == 0 ? fail() : op == "/" ? apply("-", 0, a) : Number(0);
      return op == "/" ? a / b : a % b;
    }
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    return op == "<" ? a < b : a > b;
  }

  Number unary(int depth) {
    if (depth > kDepth) return fail();
    blanks();
    if (at_ < text_.size() && text_[at_] == '!' && text_.substr(at_, 2) != "!=") {
      ++at_;
      const Number value = unary(depth + 1);
      return value ? Number(*value == 0) : fail();
    }
    if (takes("-")) return apply("-", 0, unary(depth + 1));
    if (takes("+")) return unary(depth + 1);
    if (takes("(")) {
      const Number value = choice(depth + 1);
      return takes(")") ? value : fail();
    }
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) return fail();
    at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::int64_t> ShellState::arithmetic(std::string_view expression) {
  return evaluate(word(expression));
}

std::optional<std::int64_t> ShellState::evaluate(const std::string& text) const {
  if (!unknown_part(text).empty()) return std::nullopt;
  std::string numbers;  // names without a dollar are variables, too
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_shell_name(text[end])) ++end;
    const std::string name = text.substr(at, end - at);
    if (end == at) {
      numbers += text[at++];
      continue;
    }
    if (name.front() >= '0' && name.front() <= '9') {
      numbers += name;
    } else {
      constexpr std::size_t kDigits = 20;  // of a number of 64 bits, with its sign
      const Items* const all = items(name);
      if (all == nullptr || all->empty()) return std::nullopt;
      const std::string& value = all->front().second;
      if (value.empty() || value.size() > kDigits ||
          value.find_first_not_of("0123456789-") < value.size())
        return std::nullopt;
      numbers += value;
    }
    at = end;
  }
  return Expression(numbers).read();
}

bool ShellState::count(std::string_view part) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!part.empty() && is_blank(part.front())) part.remove_prefix(1);
  while (!part.empty() && is_blank(part.back())) part.remove_suffix(1);
  const std::size_t begin = part.starts_with("++") || part.starts_with("--") ? 2 : 0;
  std::size_t end = begin;
  while (end < part.size() && is_shell_name(part[end])) ++end;
  const std::string name(part.substr(begin, end - begin));
  std::string_view rest = begin > 0 ? part.substr(0, 2) : part.substr(end);
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  std::string expression;
  if (rest == "++" || rest == "--")
    expression = name + rest[0] + "1";
  else if (rest.size() > 2 && rest[1] == '=' &&
           std::string_view("+-*/").find(rest[0]) != std::string_view::npos)
    expression = name + rest[0] + "(" + std::string(rest.substr(2)) + ")";
  else if (rest.starts_with('=') && !rest.starts_with("=="))
    expression = rest.substr(1);
  const auto value = expression.empty() || name.empty() ? std::nullopt : arithmetic(expression);
  if (!value) return false;
  set(name, std::to_string(*value));
  return true;
}

}  // namespace pleat::interop
