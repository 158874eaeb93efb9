// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/script_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace pleat {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool ends_word(char c) {
  return c == ' ' || c == '\t' || c == ')' || c == '"' || c == '\'' || c == ';' || c == '=';
}

// Where a comment begins; quotes are not looked at: flags with # in them are rare.
std::size_t comment_at(const std::string& line) {
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return i;
  return line.size();
}

// The flag as a word outside of comments.
std::optional<std::size_t> find_flag_in(const std::string& line, const std::string& flag) {
  const std::size_t end = comment_at(line);
  for (std::size_t at = line.find(flag); at < end; at = line.find(flag, at + 1)) {
    const std::size_t behind = at + flag.size();
    const bool begins = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t' ||
                        line[at - 1] == '"' || line[at - 1] == '(' || line[at - 1] == '\'';
    if (begins && (behind == line.size() || ends_word(line[behind]) || line[behind] == ':'))
      return at;
  }
  return std::nullopt;
}

struct ValueWords {
  std::size_t begin = 0, end = 0;
};

// The value behind a flag on its line; `many`: all words up to the next flag.
ValueWords values_behind(const std::string& line, std::size_t at, bool many) {
  const std::size_t limit = comment_at(line);
  while (at < limit && (line[at] == ' ' || line[at] == '\t' || line[at] == '=')) ++at;
  ValueWords found{at, at};
  while (at < limit) {
    const std::size_t begin = at;
    char quote = '\0';
    while (at < limit) {
      const char c = line[at];
      if (quote == '\0' && (c == ' ' || c == '\t' || c == ')' || c == ';' || c == '\\')) break;
      if (quote == '\0' && (c == '"' || c == '\'')) {
        // A quote that only closes belongs to the whole, "--flag value".
        if (line.find(c, at + 1) >= limit || (at > begin && at + 1 >= limit)) break;
        quote = c;
      } else if (c == quote) {
        quote = '\0';
      }
      ++at;
    }
    const std::string word = line.substr(begin, at - begin);
    if (word.empty() || word.starts_with("--")) break;
    found.end = at;
    if (!many) break;
    while (at < limit && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (line.compare(at, 2, "--") == 0) break;
  }
  found.end = std::max(found.end, found.begin);
  return found;
}

// "NAME" of "$NAME", "${NAME}" or the same in quotes.
std::string variable_of(std::string word) {
  std::erase(word, '"');
  if (!word.starts_with('$')) return "";
  word.erase(0, 1);
  if (word.starts_with('{') && word.ends_with('}')) word = word.substr(1, word.size() - 2);
  const bool name = !word.empty() && std::ranges::all_of(word, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return name ? word : "";
}

// "NAME=4" or "NAME=${NAME:-4}": the span of the value. Only where one line sets it.
bool set_variable(Lines& lines, const std::string& name, const std::string& value) {
  std::optional<std::size_t> at;
  std::size_t from = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::size_t begin = lines[i].find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    if (lines[i].compare(begin, 7, "export ") == 0) begin += 7;
    if (lines[i].compare(begin, name.size() + 1, name + "=") != 0) continue;
    if (at) return false;
    at = i;
    from = begin + name.size() + 1;
  }
  if (!at) return false;
  std::string& line = lines[*at];
  std::size_t end = from;
  while (end < line.size() && line[end] != ' ' && line[end] != '\t' && line[end] != ';') ++end;
  std::string now = line.substr(from, end - from);
  const std::size_t otherwise = now.find(":-");
  if (otherwise != std::string::npos) {
    const std::size_t close = now.find('}', otherwise);
    if (close == std::string::npos) return false;
    std::string inside = now.substr(otherwise + 2, close - otherwise - 2);
    const bool quoted = inside.size() > 1 && inside.front() == '"';
    now.replace(otherwise + 2, close - otherwise - 2, quoted ? "\"" + value + "\"" : value);
  } else if (now.find('$') != std::string::npos || now.find('`') != std::string::npos) {
    return false;
  } else {
    now = value;
  }
  line.replace(from, end - from, now);
  return true;
}

std::string joined(const std::vector<std::string>& values, bool yaml) {
  std::string out;
  for (const std::string& v : values) {
    const bool plain = v.find_first_of(" *()|[]{}<>$;&") == std::string::npos;
    out += (out.empty() ? "" : " ") + (plain || yaml ? v : "'" + v + "'");
  }
  return out;
}

// Other names of what a flag says, which its change replaces.
const std::vector<std::string>& other_names(const std::string& flag) {
  static const std::vector<std::string> none;
  static const std::map<std::string, std::vector<std::string>> names{
      {"--num-virtual-stages-per-pipeline-rank", {"--num-layers-per-virtual-pipeline-stage"}},
      {"--recompute-granularity", {"--recompute-activations"}},
      {"--recompute-modules", {"--moe-layer-recompute"}},
      {"--pipeline-model-parallel-layout",
       {"--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split",
        "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"}},
      {"--moe-flex-dispatcher-backend", {"--moe-enable-deepep"}},
      {"--moe-flex-dispatcher-num-sms", {"--moe-deepep-num-sms", "--moe-hybridep-num-sms"}},
      {"--cuda-graph-impl", {"--enable-cuda-graph", "--external-cuda-graph"}},
      {"--cuda-graph-modules", {"--cuda-graph-scope"}}};
  const auto found = names.find(flag);
  return found == names.end() ? none : found->second;
}

bool is_in(const Lines& lines, const std::string& flag) {
  return std::ranges::any_of(lines,
                             [&](const auto& l) { return find_flag_in(l, flag).has_value(); });
}

void remove_flag(Lines& lines, const std::string& flag, std::size_t count, bool yaml) {
  for (std::size_t i = 0; i < lines.size();) {
    const auto at = find_flag_in(lines[i], flag);
    if (!at) {
      ++i;
      continue;
    }
    std::string& line = lines[i];
    const std::size_t behind = at.value() + flag.size();
    const ValueWords values =
        count > 0 ? values_behind(line, behind, count > 1) : ValueWords{behind, behind};
    std::size_t end = values.end;  // with the blanks up to what follows
    while (end < line.size() && line[end] == ' ' && *at > 0 && line[*at - 1] == ' ') ++end;
    line.erase(*at, end - *at);
    const std::size_t rest = line.find_first_not_of(" \t\\\"'");
    if (yaml || rest == std::string::npos || line[rest] == '#')
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Behind the values of a flag that is there, in the same array or command.
bool add_flag(Lines& lines, const FlagChange& c, bool yaml) {
  for (const char* anchor :
       {"--micro-batch-size", "--tensor-model-parallel-size", "--pipeline-model-parallel-size",
        "--global-batch-size", "--num-layers"}) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto at = find_flag_in(lines[i], anchor);
      if (!at) continue;
      if (yaml) {
        const std::string value = c.after.empty() ? "true" : joined(c.after, true);
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i + 1),
                     lines[i].substr(0, *at) + c.flag + ": " + value);
      } else {
        const ValueWords values = values_behind(lines[i], *at + std::string(anchor).size(), false);
        const std::string value = joined(c.after, false);
        lines[i].insert(values.end, " " + c.flag + (value.empty() ? "" : " ") + value);
      }
      return true;
    }
  }
  return false;
}

void set_flag(Lines& lines, const FlagChange& c, bool yaml) {
  for (std::string& line : lines) {
    const auto at = find_flag_in(line, c.flag);
    if (!at) continue;
    std::size_t behind = *at + c.flag.size();
    if (yaml && behind < line.size() && line[behind] == ':') ++behind;
    const bool many = yaml || c.before.size() > 1 || c.after.size() > 1;
    const ValueWords values = values_behind(line, behind, many);
    const std::string now = line.substr(values.begin, values.end - values.begin);
    const std::string name = variable_of(now);
    if (!name.empty() && c.after.size() == 1 && set_variable(lines, name, c.after.front())) return;
    const std::string value = joined(c.after, yaml);
    line.replace(values.begin, values.end - values.begin, yaml && value.empty() ? "true" : value);
    return;
  }
}

}  // namespace

std::string change_flags(const std::string& text, bool yaml,
                         const std::vector<FlagChange>& changes) {
  Lines lines = lines_of(text);
  for (const FlagChange& c : changes) {
    for (const std::string& other : other_names(c.flag)) {
      const bool has_values = other != "--recompute-activations" &&
                              other != "--moe-layer-recompute" && !other.starts_with("--account") &&
                              other != "--moe-enable-deepep" && !other.ends_with("cuda-graph");
      remove_flag(lines, other, has_values ? 2 : 0, yaml);
    }
    if (!c.is_given)
      remove_flag(lines, c.flag, c.before.size(), yaml);
    else if (is_in(lines, c.flag))
      set_flag(lines, c, yaml);
    else
      static_cast<void>(add_flag(lines, c, yaml));
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  if (!text.empty() && text.back() != '\n' && !out.empty()) out.pop_back();
  return out;
}

std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& name) {
  const Lines a = lines_of(before), b = lines_of(after);
  constexpr std::size_t kAround = 3, kMostLines = 4000;
  if (a == b || a.size() > kMostLines || b.size() > kMostLines) return "";
  // Longest common subsequence, from behind.
  std::vector<std::vector<std::uint16_t>> common(a.size() + 1,
                                                 std::vector<std::uint16_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t k = b.size(); k-- > 0;)
      common[i][k] = a[i] == b[k] ? static_cast<std::uint16_t>(common[i + 1][k + 1] + 1)
                                  : std::max(common[i + 1][k], common[i][k + 1]);
  struct Edit {
    char kind;
    std::size_t a, b;
  };
  std::vector<Edit> edits;
  for (std::size_t i = 0, k = 0; i < a.size() || k < b.size();) {
    if (i < a.size() && k < b.size() && a[i] == b[k])
      edits.push_back({' ', i++, k++});
    else if (i < a.size() && (k == b.size() || common[i + 1][k] >= common[i][k + 1]))
      edits.push_back({'-', i++, k});
    else
      edits.push_back({'+', i, k++});
  }
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  for (std::size_t at = 0; at < edits.size();) {
    if (edits[at].kind == ' ') {
      ++at;
      continue;
    }
    const std::size_t begin = at - std::min(at, kAround);
    std::size_t end = at, quiet = 0;  // up to where nothing changes for a while
    while (end < edits.size() && quiet <= 2 * kAround)
      quiet = edits[end++].kind == ' ' ? quiet + 1 : 0;
    end -= quiet > kAround ? quiet - kAround : 0;
    std::size_t of_a = 0, of_b = 0;
    std::string body;
    for (std::size_t i = begin; i < end; ++i) {
      const Edit& e = edits[i];
      of_a += e.kind != '+';
      of_b += e.kind != '-';
      body += e.kind + (e.kind == '+' ? b[e.b] : a[e.a]) + "\n";
    }
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", edits[begin].a + (of_a > 0 ? 1 : 0), of_a,
                       edits[begin].b + (of_b > 0 ? 1 : 0), of_b, body);
    at = end;
  }
  return out;
}

}  // namespace pleat
