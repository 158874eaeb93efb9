// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/flag_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/environment.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "interop/shell_script.hpp"

namespace pleat::interop {
namespace {

const std::vector<std::string> kValueTypes{"on",     "off",  "on_or_off", "integer",
                                      "number", "text", "list"};

// What Python calls it.
std::string member_of(const std::string& flag) {
  std::string member = flag.substr(2);
  std::replace(member.begin(), member.end(), '-', '_');
  return member;
}

Flag read_flag(const std::string& name, ObjectReader r) {
  Flag flag;
  flag.type = static_cast<FlagType>(r.choice("type", kValueTypes));
  flag.dest = r.optional_text("dest").value_or(member_of(name));
  if (const JsonValue::Array* choices = r.optional_array("choices")) {
    for (const JsonValue& choice : *choices)
      if (const std::string* word = choice.as_string()) flag.choices.push_back(*word);
  }
  flag.at = r.text("at");
  r.finish();
  return flag;
}

bool is_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool is_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// Empty when the values fit the flag.
std::string misfit(const Flag& flag, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (const std::string unknown = unknown_part(value); unknown.starts_with("output-of-"))
      return fmt::format("is what {} prints", unknown.substr(10));
    else if (!unknown.empty())
      return fmt::format("${} is not set", unknown);
    if (!flag.choices.empty() &&
        std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end()) {
      return fmt::format("'{}' is none of {}", value, fmt::join(flag.choices, ", "));
    }
    if (flag.type == FlagType::integer && !is_integer(value))
      return fmt::format("'{}' is not a whole number", value);
    if (flag.type == FlagType::number && !is_number(value))
      return fmt::format("'{}' is not a number", value);
  }
  return {};
}

// The flag, or the only one that begins so: Python's argparse takes both.
const std::pair<const std::string, Flag>* find_flag(const FlagTable& table,
                                                    const std::string& name) {
  const auto at = table.flags.lower_bound(name);
  if (at == table.flags.end() || !at->first.starts_with(name)) return nullptr;
  if (at->first == name) return &*at;
  const auto next = std::next(at);
  const bool one = next == table.flags.end() || !next->first.starts_with(name);
  return one && name.size() >= 8 ? &*at : nullptr;
}

bool is_unknown(const std::string& word) {
  return !word.empty() && word.front() == kUnknownBegin && known_part(word).empty();
}

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") &&
         ((word[2] >= 'a' && word[2] <= 'z') || (word[2] >= 'A' && word[2] <= 'Z'));
}

}  // namespace

FlagTable load_flag_table() {
  const std::string path = config_directory() + "/interop/megatron-lm.json";
  const JsonValue root = parse_json(read_text_file(path), path);
  Diagnostics problems;
  ObjectReader r(root, "", {path, problems});
  FlagTable table;
  r.schema_version(1);
  r.text("framework");
  table.version = r.text("version") + " (" + r.text("date") + ")";
  r.text("source");
  r.optional_array("changes");
  ObjectReader flags = r.object("flags");
  for (const JsonMember& member : flags.members())
    table.flags.emplace(member.key, read_flag(member.key, flags.object(member.key)));
  r.finish();
  problems.throw_if_errors();
  return table;
}

ReadArguments read_arguments(const std::vector<std::string>& words, const FlagTable& table) {
  ReadArguments out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;  // a program, a path, an array's name
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(words[i].substr(equals + 1));
    const auto* const found = find_flag(table, name);
    if (found == nullptr) {
      out.problems.push_back(name + ": unknown flag");
      out.strangers.push_back(name);
      // Of another version or a fork, which readers may know by its member.
      while (i + 1 < words.size() && !is_flag(words[i + 1]) && words[i + 1] != ")")
        values.push_back(words[++i]);
      if (values.empty()) values = {"True"};
      out.values[member_of(name)] = std::move(values);
      continue;
    }
    const Flag& flag = found->second;
    out.spelled[flag.dest] = found->first;
    out.bad.erase(flag.dest);
    const bool many = flag.type == FlagType::list;
    const bool one =
        flag.type != FlagType::on && flag.type != FlagType::off && flag.type != FlagType::on_or_off;
    while (one && i + 1 < words.size() && !is_flag(words[i + 1]) && words[i + 1] != ")" &&
           (many || values.empty())) {
      values.push_back(words[++i]);
    }
    // "--flag $REST", where the rest is further flags.
    while (many && values.size() > 1 && is_unknown(values.back())) values.pop_back();
    if (one && values.empty()) {
      out.problems.push_back(name + ": needs a value");
      out.bad[flag.dest] = "needs a value";
      continue;
    }
    if (!one) {
      values = {flag.type == FlagType::off ? "False" : "True"};
    } else if (const std::string problem = misfit(flag, values); !problem.empty()) {
      out.problems.push_back(name + ": " + problem);
      out.bad[flag.dest] = problem;
    }
    out.values[flag.dest] = std::move(values);
  }
  return out;
}

std::vector<int> parse_pattern(const std::string& text, std::size_t limit,
                               const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw_config_error(ExitCode::bad_file, "", path, fmt::format("'{}': {}", text, why),
                       "for example ([0]*3+[1]*58)");
  };
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
    return at < text.size() ? text[at] : '\0';
  };
  const auto number = [&]() -> int {
    int value = 0;
    skip();
    const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (parsed.ec != std::errc() || value < 0) fail("a whole number is expected");
    at = static_cast<std::size_t>(parsed.ptr - text.data());
    return value;
  };
  const auto sum = [&](const auto& self, int depth) -> std::vector<int> {
    if (depth > 8) fail("is nested too deeply");
    std::vector<int> all;
    do {
      if (skip() == '+') ++at;
      std::vector<int> term;
      if (skip() == '(') {
        ++at;
        term = self(self, depth + 1);
        if (skip() != ')') fail("a parenthesis is open");
        ++at;
      } else if (skip() == '[') {
        ++at;
        for (;;) {
          term.push_back(number());
          if (skip() == ',')
            ++at;
          else
            break;
        }
        if (skip() != ']') fail("a bracket is open");
        ++at;
      } else {
        fail("a list is expected");
      }
      const int times = skip() == '*' ? (++at, number()) : 1;
      if (all.size() + term.size() * static_cast<std::size_t>(times) > limit)
        fail(fmt::format("has more than {} numbers", limit));
      for (int i = 0; i < times; ++i) all.insert(all.end(), term.begin(), term.end());
    } while (skip() == '+');
    return all;
  };
  const std::vector<int> values = sum(sum, 0);
  if (skip() != '\0') fail("has something after its end");
  return values;
}

namespace {

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> ArgumentReader::text(const std::string& member) const {
  asked_.insert(member);
  const auto found = values_.find(member);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  const std::string& value = found->second.front();
  if (value.empty() || value == "None") return std::nullopt;
  return value;
}

std::vector<std::string> ArgumentReader::list(const std::string& member) const {
  const auto found = values_.find(member);
  if (found == values_.end() || !text(member)) return {};
  return found->second;
}

std::optional<std::int64_t> ArgumentReader::integer(const std::string& member,
                                                    std::int64_t most) const {
  const std::optional<std::string> word = text(member);
  if (!word) return std::nullopt;
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(*word);
  if (value && *value >= 0 && *value <= most) return value;
  problem(member, "'" + *word + "' is not a whole number from 0 to " + std::to_string(most));
  return std::nullopt;
}

std::optional<double> ArgumentReader::number(const std::string& member) const {
  const std::optional<std::string> word = text(member);
  if (!word) return std::nullopt;
  const std::optional<double> value = parse_number<double>(*word);
  if (value && *value > -1e15 && *value < 1e15) return value;
  problem(member, "'" + *word + "' is not a number");
  return std::nullopt;
}

bool ArgumentReader::is_on(const std::string& member) const { return text(member) == "True"; }
bool ArgumentReader::is_off(const std::string& member) const { return text(member) == "False"; }

std::int64_t ArgumentReader::required(const std::string& member) const {
  if (!text(member)) problem(member, "is not given", "it decides the size of the model or the run");
  const std::int64_t value = integer(member).value_or(1);
  if (value < 1) problem(member, "must be at least 1");
  return value < 1 ? 1 : value;
}

void ArgumentReader::problem(const std::string& member, std::string message,
                             std::string hint) const {
  problems_.error(ExitCode::bad_file, where_, member, std::move(message), std::move(hint));
}

}  // namespace pleat::interop
