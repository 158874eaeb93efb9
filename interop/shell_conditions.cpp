// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What stands between [ and ], or [[ and ]]. What is not known is empty, as an unset variable is;
// files are not there.
#include <algorithm>
#include <charconv>

#include "interop/shell_script.hpp"
#include "interop/shell_state.hpp"

namespace pleat::interop {
namespace {

class Condition {
 public:
  Condition(const std::vector<std::string>& words, const ShellState& state)
      : words_(words), state_(state) {}

  bool any_of() {
    bool holds = all_of();
    while (at_ < words_.size() && (words_[at_] == "||" || words_[at_] == "-o")) {
      const bool next = behind([this] { return all_of(); });
      holds = holds || next;
    }
    return holds;
  }

 private:
  template <class Part>
  bool behind(Part part) {
    ++at_;
    return part();
  }

  bool all_of() {
    bool holds = one();
    while (at_ < words_.size() && (words_[at_] == "&&" || words_[at_] == "-a")) {
      const bool next = behind([this] { return one(); });
      holds = holds && next;
    }
    return holds;
  }

  bool one() {
    if (at_ >= words_.size() || ++depth_ > 200) return false;
    if (words_[at_] == "!") return !behind([this] { return one(); });
    if (words_[at_] == "(") {
      const bool holds = behind([this] { return any_of(); });
      if (at_ < words_.size()) ++at_;
      return holds;
    }
    const std::string left = known_part(words_[at_]);
    const auto is_end = [&](std::size_t k) {
      return k >= words_.size() || words_[k] == "&&" || words_[k] == "||" || words_[k] == "-a" ||
             words_[k] == "-o" || words_[k] == ")";
    };
    if (!is_end(at_ + 1) && left.size() == 2 && left[0] == '-' && is_end(at_ + 2)) {
      const std::string value = known_part(words_[at_ + 1]);
      at_ += 2;
      if (left == "-z") return value.empty();
      if (left == "-n") return !value.empty();
      if (left == "-v") return state_.items(value.substr(0, value.find('['))) != nullptr;
      return false;  // a file, which is not there
    }
    if (is_end(at_ + 1)) {
      ++at_;
      return !left.empty();
    }
    const std::string op = words_[at_ + 1],
                      right = is_end(at_ + 2) ? "" : known_part(words_[at_ + 2]);
    at_ = std::min(at_ + 3, words_.size());
    if (op == "=" || op == "==") return glob_matches(right, left);
    if (op == "!=") return !glob_matches(right, left);
    if (op == "=~") return left.find(right) != std::string::npos;
    std::int64_t a = 0, b = 0;
    const auto number = [](const std::string& text, std::int64_t& value) {
      const char* const end = text.data() + text.size();
      return std::from_chars(text.data(), end, value).ptr == end && !text.empty();
    };
    if (!number(left, a) || !number(right, b)) return false;
    if (op == "-eq") return a == b;
    if (op == "-ne") return a != b;
    if (op == "-lt") return a < b;
    if (op == "-le") return a <= b;
    if (op == "-gt") return a > b;
    return op == "-ge" && a >= b;
  }

  const std::vector<std::string>& words_;
  const ShellState& state_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool condition_holds(const std::vector<std::string>& words, const ShellState& state) {
  return Condition(words, state).any_of();
}

}  // namespace pleat::interop
