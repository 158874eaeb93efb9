// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/shell_state.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "interop/shell_script.hpp"
#include "interop/shell_tokens.hpp"

namespace pleat::interop {
namespace {

constexpr std::size_t kMostProduced = std::size_t{1} << 24;
constexpr int kMostExpansions = 40;

bool is_space(char c) { return is_shell_blank(c) || c == '\n'; }

// A variable's name, or what a program prints; without a character that a shell would read.
std::string unknown(std::string_view what) {
  std::string out(1, kUnknownBegin);
  for (const char c : what.substr(0, 60)) out += is_shell_name(c) || c == '.' || c == '-' ? c : '_';
  return out + kUnknownEnd;
}
std::string unknown_output(std::string_view command) {
  while (!command.empty() && is_space(command.front())) command.remove_prefix(1);
  return unknown("output-of-" + std::string(command.substr(0, command.find_first_of(" \n|;"))));
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
  std::optional<std::string> best;
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

// Words as they grow.
struct ShellState::Build {
  std::vector<std::string> done;
  std::string word;
  bool is_word = false;  // quotes make a word of nothing
  bool splits = true;

  void end() {
    if (is_word || !word.empty()) done.push_back(std::move(word));
    word.clear();
    is_word = false;
  }
  void add(std::string_view text, bool quoted) {
    if (quoted || !splits) {
      word += text;
      return;
    }
    bool inside = false;  // what is not known is never cut
    for (const char c : text) {
      inside = c == kUnknownBegin || (inside && c != kUnknownEnd);
      if (!inside && is_space(c))
        end();
      else
        word += c;
    }
  }
};

std::string unknown_part(std::string_view word) {
  const std::size_t at = word.find(kUnknownBegin);
  if (at == std::string_view::npos) return "";
  const std::size_t end = word.find(kUnknownEnd, at);
  return std::string(word.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
}

std::string known_part(std::string_view word) {
  std::string out;
  bool inside = false;
  for (const char c : word) {
    if (c == kUnknownBegin) inside = true;
    if (!inside) out += c;
    if (c == kUnknownEnd) inside = false;
  }
  return out;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  const auto one = [&](std::size_t& next) {
    if (p >= pattern.size()) return false;
    next = p + 1;
    if (pattern[p] == '?') return true;
    if (pattern[p] == '[') {
      const std::size_t close = pattern.find(']', p + 1);
      if (close != std::string_view::npos) {
        next = close + 1;
        return pattern.substr(p + 1, close - p - 1).find(text[t]) != std::string_view::npos;
      }
    }
    return pattern[p] == text[t];
  };
  while (t < text.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (one(next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const std::string& ShellState::resolved(const std::string& name) const {
  const std::string* at = &name;
  for (int i = 0; i < 8; ++i) {
    const auto found = references_.find(*at);
    if (found == references_.end()) break;
    at = &found->second;
  }
  return *at;
}

void ShellState::set(const std::string& name, std::string value) {
  const std::size_t bracket = name.find('[');
  if (bracket == std::string::npos) {
    references_.erase(name);
    variables_[name] = {{"0", std::move(value)}};
    return;
  }
  const std::string key = word(std::string_view(name).substr(
      bracket + 1, name.size() - bracket - 1 - (name.back() == ']' ? 1 : 0)));
  Items& all = variables_[resolved(name.substr(0, bracket))];
  const auto found = std::ranges::find(all, key, &Items::value_type::first);
  if (found != all.end())
    found->second = std::move(value);
  else
    all.emplace_back(key, std::move(value));
}

void ShellState::append(const std::string& name, const std::string& value) {
  Items& all = variables_[resolved(name)];
  if (all.empty()) all.emplace_back("0", "");
  all.front().second += value;
  produced_ += all.front().second.size();
  if (produced_ > kMostProduced)
    throw_config_error(ExitCode::bad_file, "", "", "its variables grow without end", "");
}

void ShellState::set_items(const std::string& name, Items items, bool more) {
  Items& all = variables_[resolved(name)];
  if (!more) all.clear();
  for (auto& item : items) {
    if (item.first.empty()) item.first = std::to_string(all.size());
    all.push_back(std::move(item));
  }
}

void ShellState::forget(const std::string& name) { set(name, unknown(name)); }

void ShellState::unset(const std::string& name) { variables_.erase(name); }

const ShellState::Items* ShellState::items(const std::string& name) const {
  const auto found = variables_.find(resolved(name));
  return found == variables_.end() ? nullptr : &found->second;
}

std::string ShellState::value(const std::string& name) const {
  const Items* const all = items(name);
  if (all == nullptr) return unknown(name);
  return all->empty() ? "" : all->front().second;
}

std::map<std::string, std::string> ShellState::all() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, items] : variables_) {
    std::string& text = out[name];
    for (const auto& [key, value] : items) text += (text.empty() ? "" : " ") + value;
  }
  return out;
}

std::vector<std::string> ShellState::words(std::string_view raw) {
  Build b;
  expand(raw, false, b);
  b.end();
  return std::move(b.done);
}

std::string ShellState::word(std::string_view raw) {
  Build b;
  b.splits = false;
  expand(raw, false, b);
  b.end();
  std::string out;
  for (const std::string& part : b.done) out += (out.empty() ? "" : " ") + part;
  return out;
}

std::string ShellState::heredoc(std::string_view text) {
  Build b;
  b.splits = false;
  expand(text, true, b);
  return b.word;
}

void ShellState::expand(std::string_view raw, bool quoted, Build& b) {
  if (++depth_ > kMostExpansions || produced_ > kMostProduced) {
    depth_ = 0;
    throw_config_error(ExitCode::bad_file, "", "", "its variables grow without end", "");
  }
  for (std::size_t at = 0; at < raw.size();) {
    const char c = raw[at];
    if (c == '\\' && at + 1 < raw.size()) {
      const char next = raw[at + 1];
      const bool escapes = !quoted || next == '$' || next == '"' || next == '\\' || next == '`';
      if (!escapes && next != '\n') b.word += c;
      if (next != '\n') b.word += next;
      b.is_word = true;
      at += 2;
    } else if (!quoted && c == '\'') {
      const std::size_t end = std::min(raw.find('\'', at + 1), raw.size());
      b.word += raw.substr(at + 1, end - at - 1);
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
      b.word += c;
      ++at;
    }
  }
  produced_ += b.word.size();
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
    b.word += '$';
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
    return b.add(n >= 1 && n <= positional.size() ? positional[n - 1] : unknown(name), quoted);
  } else if (!is_shell_name(name.front())) {
    return b.add(unknown(name), quoted);
  } else if (const Items* const all = items(name); all == nullptr) {
    return b.add(unknown(name), quoted);
  } else if (many) {
    for (const auto& item : *all) values.push_back(item.second);
  } else if (!index.empty()) {
    const auto number = evaluate(index);
    for (const auto& [k, v] : *all)
      if (k == index || (number && k == std::to_string(*number))) return b.add(v, quoted);
    return b.add(unknown(name + "_" + index), quoted);
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
        b.word += ' ';
    }
    b.add(values[i], quoted);
    if (apart) b.is_word = true;
  }
  if (values.empty() && apart && b.word.empty()) b.is_word = false;
}

// "X:-1", "X[@]", "#X[@]", "X%.sh": what stands between ${ and }.
void ShellState::parameter(std::string_view inside, bool quoted, Build& b) {
  const bool counts = inside.size() > 1 && inside.front() == '#';
  if (counts) inside.remove_prefix(1);
  if (inside.starts_with('!')) return b.add(unknown(inside), quoted);
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
    return b.add(std::to_string(index.empty()    ? known_part(value(name)).size()
                                : all == nullptr ? 0
                                                 : all->size()),
                 quoted);
  }
  std::string_view rest = inside.substr(end);
  if (rest.empty()) return name_value(name, index, quoted, b);
  Build plain;
  plain.splits = false;
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
    return b.add(without(plain.word, pattern, what == '#', longest), quoted);
  }
  if (!colon && what == '/') {
    const bool every = other.starts_with('/');
    const std::string_view both = every ? other.substr(1) : other;
    const std::size_t slash = std::min(both.find('/'), both.size());
    const std::string from = word(both.substr(0, slash));
    const std::string to = slash < both.size() ? word(both.substr(slash + 1)) : "";
    std::string text = plain.word;
    if (from.empty() || from.find_first_of("*?[") != std::string::npos)
      return b.add(unknown(inside), quoted);
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
      if (!every || text.size() > kMostProduced) break;
    }
    produced_ += text.size();  // the next expansion says so where it is too much
    return b.add(text, quoted);
  }
  if (!colon && (what == ',' || what == '^')) {
    std::string text = plain.word;
    for (char& c : text) {
      if (what == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (what == '^' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return b.add(text, quoted);
  }
  b.add(unknown(inside), quoted);
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
