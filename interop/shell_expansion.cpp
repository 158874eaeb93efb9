// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words of a script with their variables put in, as a shell does it.
#include <algorithm>
#include <cstdlib>

#include "core/diagnostics.hpp"
#include "interop/shell_script.hpp"
#include "interop/shell_state.hpp"
#include "interop/shell_tokens.hpp"

namespace pleat::interop {
namespace {

constexpr std::size_t kMostCut = 1 << 16;  // of ${name%pattern}: every length of it is tried
constexpr int kMostExpansions = 40;

bool is_space(char c) { return is_shell_blank(c) || c == '\n'; }

std::string unknown_output(std::string_view command) {
  while (!command.empty() && is_space(command.front())) command.remove_prefix(1);
  return unknown_value("output-of-" +
                       std::string(command.substr(0, command.find_first_of(" \n|;"))));
}

// "--flag value" a line, as words: a true one alone, a false one not at all.
std::string flag_words(const std::string& lines) {
  std::string out;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with(" false")) continue;
    if (line.ends_with(" true")) line.resize(line.size() - 5);
    out += line + " ";
  }
  return out;
}

// The shortest or longest beginning that a pattern matches, cut off; the same from behind.
std::string without(const std::string& text, const std::string& pattern, bool front, bool longest) {
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::size_t length = longest ? text.size() - n : n;
    const std::string_view part = front ? std::string_view(text).substr(0, length)
                                        : std::string_view(text).substr(text.size() - length);
    if (!glob_matches(pattern, part)) continue;
    return front ? text.substr(length) : text.substr(0, text.size() - length);
  }
  return text;
}

// Where the bracket that opens at `open` closes; the end if it does not.
std::size_t closing_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

}  // namespace

// Words as they grow. All that is put into them is spent.
class ShellState::Build {
 public:
  explicit Build(ShellState& state, bool splits = true) : splits(splits), state_(state) {}

  std::vector<std::string> done;
  std::string word;
  bool is_word = false;  // quotes make a word of nothing
  const bool splits;

  void end() {
    if (is_word || !word.empty()) {
      state_.spend(kShellWord);
      done.push_back(std::move(word));
    }
    word.clear();
    is_word = false;
  }
  void put(std::string_view text) {
    state_.spend(text.size());
    word += text;
  }
  void put(char c) { put(std::string_view(&c, 1)); }
  void add(std::string_view text, bool quoted) {
    if (quoted || !splits) return put(text);
    bool inside = false;  // what is not known is never cut
    for (const char c : text) {
      inside = c == kUnknownBegin || (inside && c != kUnknownEnd);
      if (!inside && is_space(c))
        end();
      else
        put(c);
    }
  }

 private:
  ShellState& state_;
};

std::vector<std::string> ShellState::words(std::string_view raw) {
  Build b(*this);
  expand(raw, false, b);
  b.end();
  return std::move(b.done);
}

std::string ShellState::word(std::string_view raw) {
  Build b(*this, false);
  expand(raw, false, b);
  b.end();
  std::string out;
  for (const std::string& part : b.done) out += (out.empty() ? "" : " ") + part;
  return out;
}

std::string ShellState::heredoc(std::string_view text) {
  Build b(*this, false);
  expand(text, true, b);
  return b.word;
}

void ShellState::expand(std::string_view raw, bool quoted, Build& b) {
  if (++depth_ > kMostExpansions)
    throw_config_error(ExitCode::bad_file, "", "", "its variables nest without end", "");
  for (std::size_t at = 0; at < raw.size();) {
    const char c = raw[at];
    if (c == '\\' && at + 1 < raw.size()) {
      const char next = raw[at + 1];
      const bool escapes = !quoted || next == '$' || next == '"' || next == '\\' || next == '`';
      if (!escapes && next != '\n') b.put(c);
      if (next != '\n') b.put(next);
      b.is_word = true;
      at += 2;
    } else if (!quoted && c == '\'') {
      const std::size_t end = std::min(raw.find('\'', at + 1), raw.size());
      b.put(raw.substr(at + 1, end - at - 1));
      b.is_word = true;
      at = end + 1;
    } else if (!quoted && c == '"') {
      const std::size_t end = after_quoted(raw, at);
      const bool closed = end > at + 1 && raw[end - 1] == '"';
      b.is_word = true;
      expand(raw.substr(at + 1, end - at - 1 - (closed ? 1 : 0)), true, b);
      at = end;
    } else if (c == '`') {
      const std::size_t end = std::min(raw.find('`', at + 1), raw.size());
      substitute(raw.substr(at + 1, end - at - 1), quoted, b);
      at = end + 1;
    } else if (c == '$' && at + 1 < raw.size()) {
      at = dollar(raw, at, quoted, b);
    } else {
      b.put(c);
      ++at;
    }
  }
  --depth_;
}

std::size_t ShellState::dollar(std::string_view raw, std::size_t at, bool quoted, Build& b) {
  const char next = raw[at + 1];
  if (next == '(' || next == '{') {
    const std::size_t end = after_quoted(raw, at);
    const char close = next == '(' ? ')' : '}';
    const bool closed = end > at + 2 && raw[end - 1] == close;
    const std::string_view inside = raw.substr(at + 2, end - at - 2 - (closed ? 1 : 0));
    if (next == '{') {
      parameter(inside, quoted, b);
    } else if (inside.starts_with('(') && inside.ends_with(')')) {
      const auto value = arithmetic(inside.substr(1, inside.size() - 2));
      b.add(value ? std::to_string(*value) : unknown_output("arithmetic"), quoted);
    } else {
      substitute(inside, quoted, b);
    }
    return end;
  }
  if (next == '@' || next == '*') {
    name_value(std::string(1, next), "", quoted, b);
    return at + 2;
  }
  if (is_shell_digit(next) || next == '#' || next == '?' || next == '$' || next == '!' ||
      next == '-') {
    name_value(std::string(1, next), "", quoted, b);
    return at + 2;
  }
  std::size_t end = at + 1;
  while (end < raw.size() && is_shell_name(raw[end])) ++end;
  if (end == at + 1) {
    b.put('$');
    return end;
  }
  name_value(std::string(raw.substr(at + 1, end - at - 1)), "", quoted, b);
  return end;
}

void ShellState::name_value(const std::string& name, const std::string& index, bool quoted,
                            Build& b) {
  std::vector<std::string> values;
  bool many = index == "@" || index == "*";
  if (name == "@" || name == "*") {
    values = positional;
    many = true;
  } else if (name == "#") {
    return b.add(std::to_string(positional.size()), quoted);
  } else if (name == "?") {
    return b.add("0", quoted);
  } else if (is_shell_digit(name.front())) {
    const std::size_t n = static_cast<std::size_t>(std::min(std::atoi(name.c_str()), 1000));
    return b.add(n >= 1 && n <= positional.size() ? positional[n - 1] : unknown_value(name),
                 quoted);
  } else if (!is_shell_name(name.front())) {
    return b.add(unknown_value(name), quoted);
  } else if (const Items* const all = items(name); all == nullptr) {
    return b.add(unknown_value(name), quoted);
  } else if (many) {
    for (const auto& item : *all) values.push_back(item.second);
  } else if (!index.empty()) {
    const auto number = evaluate(index);
    spend(all->size());
    for (const auto& [k, v] : *all)
      if (k == index || (number && k == std::to_string(*number))) return b.add(v, quoted);
    return b.add(unknown_value(name + "_" + index), quoted);
  } else {
    return b.add(all->empty() ? "" : all->front().second, quoted);
  }
  // "$@" and "${a[@]}" are a word each, ${a[*]} in quotes is one.
  const bool apart = quoted && name != "*" && index != "*" && b.splits;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      if (apart || (!quoted && b.splits))
        b.end();
      else
        b.put(' ');
    }
    b.add(values[i], quoted);
    if (apart) b.is_word = true;
  }
  if (values.empty() && apart && b.word.empty()) b.is_word = false;
}

std::string ShellState::replaced(std::string_view text, const std::string& from,
                                 const std::string& to, bool every) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string_view::npos;) {
    spend(to.size());
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
    if (!every) break;
  }
  return out.append(text.substr(at));
}

// "X:-1", "X[@]", "#X[@]", "X%.sh": what stands between ${ and }.
void ShellState::parameter(std::string_view inside, bool quoted, Build& b) {
  const bool counts = inside.size() > 1 && inside.front() == '#';
  if (counts) inside.remove_prefix(1);
  if (inside.starts_with('!')) return b.add(unknown_value(inside), quoted);
  std::size_t end = 0;
  while (end < inside.size() && is_shell_name(inside[end])) ++end;
  if (end == 0 && !inside.empty()) end = 1;  // ${@}, ${*}
  const std::string name(inside.substr(0, end));
  std::string index;
  if (end < inside.size() && inside[end] == '[') {
    const std::size_t close = closing_bracket(inside, end);
    index = word(inside.substr(end + 1, close - end - 1));  // once: names nest in it
    end = std::min(close + 1, inside.size());
  }
  if (name.empty()) return;
  if (counts) {
    const Items* const all = items(name);
    if (!index.empty()) return b.add(std::to_string(all == nullptr ? 0 : all->size()), quoted);
    const std::string text = value(name);
    spend(text.size());
    return b.add(std::to_string(known_part(text).size()), quoted);
  }
  std::string_view rest = inside.substr(end);
  if (rest.empty()) return name_value(name, index, quoted, b);
  Build plain(*this, false);
  name_value(name, index, true, plain);
  const std::string now = known_part(plain.word);
  const bool is_set = items(name) != nullptr || (is_shell_digit(name.front()) && !now.empty());
  const bool colon = rest.front() == ':';
  if (colon) rest.remove_prefix(1);
  const bool present = is_set && (!colon || !now.empty());
  const char what = rest.empty() ? '\0' : rest.front();
  const std::string_view other = rest.empty() ? rest : rest.substr(1);
  if (what == '-' || what == '=' || what == '?') {
    if (present || what == '?') return name_value(name, index, quoted, b);
    if (what == '=') set(name, word(other));
    return expand(other, quoted, b);
  }
  if (what == '+') {
    if (present) expand(other, quoted, b);
    return;
  }
  if (!colon && (what == '%' || what == '#')) {
    const bool longest = other.starts_with(what);
    const std::string pattern = word(longest ? other.substr(1) : other);
    if (plain.word.size() > kMostCut) return b.add(unknown_value(inside), quoted);
    return b.add(without(plain.word, pattern, what == '#', longest), quoted);
  }
  if (!colon && what == '/') {
    const bool every = other.starts_with('/');
    const std::string_view both = every ? other.substr(1) : other;
    const std::size_t slash = std::min(both.find('/'), both.size());
    const std::string from = word(both.substr(0, slash));
    const std::string to = slash < both.size() ? word(both.substr(slash + 1)) : "";
    if (from.empty() || from.find_first_of("*?[") != std::string::npos)
      return b.add(unknown_value(inside), quoted);
    return b.add(replaced(plain.word, from, to, every), quoted);
  }
  if (!colon && (what == ',' || what == '^')) {
    std::string text = plain.word;
    for (char& c : text) {
      if (what == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (what == '^' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return b.add(text, quoted);
  }
  b.add(unknown_value(inside), quoted);
}

// Of programs only `echo` and what yq prints of a file that is given are known.
void ShellState::substitute(std::string_view command, bool quoted, Build& b) {
  if (!printed_by_yq.empty() && command.find("yq") != std::string_view::npos &&
      command.find(".MODEL_ARGS") != std::string_view::npos) {
    if (command.find(".MODEL_ARGS.\"") == std::string_view::npos)
      return b.add(flag_words(heredoc(printed_by_yq)), quoted);
  }
  std::string_view text = command;
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.starts_with("echo ") && text.find('|') == std::string_view::npos) {
    std::string line;
    for (const ShellToken& t : shell_tokens(std::string(text.substr(5)))) {
      if (t.kind != ShellToken::Kind::word) break;
      for (const std::string& w : words(t.text)) line += (line.empty() ? "" : " ") + w;
    }
    return b.add(line, quoted);
  }
  b.add(unknown_output(text), quoted);
}

}  // namespace pleat::interop
