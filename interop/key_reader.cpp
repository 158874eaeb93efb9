// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/key_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pleat::interop {
namespace {

std::optional<double> parsed_number(std::string text) {
  std::erase(text, '_');
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_nothing(const std::string& text) {
  return text.empty() || text == "None" || text == "none" || text == "null" || text == "auto";
}

bool is_off(const JsonValue& value) {
  if (const std::string* const text = value.as_string()) {
    return is_nothing(*text) || *text == "false" || *text == "False" || *text == "disabled" ||
           parsed_number(*text) == 0;
  }
  return value.is_null() || (value.items().empty() && value.members().empty());
}

std::string text_of(const JsonValue& value) {
  const std::string* const text = value.as_string();
  return text == nullptr ? value.dump(0) : *text == "True" ? "true" : *text;
}

// The fate of the path itself, else of the closest section that has one for all of it.
const Unread* fate_of(const UnreadTable& fates, const std::string& path) {
  if (const auto exact = fates.find(path); exact != fates.end()) return &exact->second;
  if (const auto all = fates.find(path + ".*"); all != fates.end()) return &all->second;
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0;
       dot = path.rfind('.', dot - 1)) {
    const auto all = fates.find(path.substr(0, dot) + ".*");
    if (all != fates.end()) return &all->second;
  }
  return nullptr;
}

class Judge {
 public:
  Judge(const std::set<std::string>& asked, const UnreadTable& fates, const std::string& where,
        Diagnostics& problems)
      : asked_(asked), fates_(fates), where_(where), problems_(problems) {}

  void walk(const JsonValue& value, const std::string& path) {
    const std::size_t dot = path.rfind('.');
    if (path.compare(dot == std::string::npos ? 0 : dot + 1, 1, "_") == 0) return;  // _target_
    if (asked_.contains(path) && !value.is_object()) return;
    if (!value.is_object()) {
      leaf(value, path);
      return;
    }
    for (const char* name : {"enabled", "enable"})
      if (const JsonValue* on = value.find(name); on != nullptr && is_off(*on)) return;
    for (const JsonMember& member : value.members())
      walk(member.value, path.empty() ? member.key : path + "." + member.key);
  }

  std::vector<std::string> lines;

 private:
  void leaf(const JsonValue& value, const std::string& path) {
    const Unread* const fate = fate_of(fates_, path);
    if (fate == nullptr) {
      lines.push_back(path + ": unknown key");
      return;
    }
    if (fate->effect == UnreadEffect::harmless) return;
    const bool silent = value == JsonValue("") || value == JsonValue("null");
    if (silent || (fate->usual.empty() ? is_off(value) : text_of(value) == fate->usual)) return;
    if (fate->effect == UnreadEffect::unpriced)
      lines.push_back(path + ": " + fate->why);
    else
      problems_.error(ExitCode::bad_file, where_, path, "cannot be predicted: " + fate->why);
  }

  const std::set<std::string>& asked_;
  const UnreadTable& fates_;
  const std::string& where_;
  Diagnostics& problems_;
};

}  // namespace

JsonValue as_text(const JsonValue& value) {
  if (const bool* const flag = value.as_bool()) return {*flag ? "true" : "false"};
  if (const std::int64_t* const i = value.as_integer()) return {std::to_string(*i)};
  if (const double* const number = value.as_double()) return {fmt::format("{}", *number)};
  if (value.is_array()) {
    JsonValue list = JsonValue::array();
    for (const JsonValue& item : value.items()) list.push_back(as_text(item));
    return list;
  }
  if (!value.is_object()) return value;
  JsonValue object = JsonValue::object();
  for (const JsonMember& member : value.members()) object.set(member.key, as_text(member.value));
  return object;
}

std::string word_of(const JsonValue* value) {
  const std::string* const text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? "" : *text;
}

void set_at(JsonValue& tree, const std::string& path, JsonValue value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    tree.set(path, std::move(value));
    return;
  }
  const std::string key = path.substr(0, dot);
  const JsonValue* const found = tree.find(key);
  JsonValue inner = found != nullptr && found->is_object() ? *found : JsonValue::object();
  set_at(inner, path.substr(dot + 1), std::move(value));
  tree.set(key, std::move(inner));
}

const JsonValue* KeyReader::find(const std::string& path) const {
  asked_.insert(path);
  const JsonValue* at = &tree_;
  for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = at->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at == nullptr || at->is_null() ? nullptr : at;
}

std::optional<std::string> KeyReader::text(const std::string& path) const {
  const JsonValue* const value = find(path);
  if (value == nullptr) return std::nullopt;
  const std::string* const text = value->as_string();
  if (text == nullptr) {
    problem(path, "is " + std::string(value->type_name()) + ", one value is expected");
    return std::nullopt;
  }
  return is_nothing(*text) ? std::nullopt : std::optional(*text);
}

std::vector<std::string> KeyReader::list(const std::string& path) const {
  const JsonValue* const value = find(path);
  std::vector<std::string> out;
  if (value == nullptr) return out;
  const auto add = [&](const JsonValue& item) {
    const std::string* const text = item.as_string();
    if (text != nullptr && !is_nothing(*text)) out.push_back(*text);
  };
  if (!value->is_array()) {
    std::string rest = word_of(value);
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      add(JsonValue(rest.substr(0, comma)));
      rest.erase(0, comma + 1);
    }
  }
  for (const JsonValue& item : value->items()) add(item);
  return out;
}

std::optional<double> KeyReader::number(const std::string& path) const {
  const std::optional<std::string> word = text(path);
  if (!word) return std::nullopt;
  const std::optional<double> value = parsed_number(*word);
  if (!value || std::abs(*value) > 1e15) {
    problem(path, "'" + *word + "' is not a number");
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> KeyReader::integer(const std::string& path, std::int64_t most) const {
  const std::optional<std::string> word = text(path);
  if (!word) return std::nullopt;
  const std::optional<double> value = parsed_number(*word);
  if (value && *value >= 0 && *value <= static_cast<double>(most) && std::floor(*value) == *value)
    return static_cast<std::int64_t>(*value);
  problem(path, fmt::format("'{}' is not a whole number from 0 to {}", *word, most));
  return std::nullopt;
}

int KeyReader::degree(const std::string& path, int otherwise) const {
  const std::int64_t value = integer(path, 1 << 20).value_or(otherwise);
  if (value < 1) problem(path, "must be at least 1");
  return static_cast<int>(std::max<std::int64_t>(value, 1));
}

bool KeyReader::is_on(const std::string& path, bool otherwise) const {
  const std::optional<std::string> word = text(path);
  if (!word) return otherwise;
  if (*word == "true" || *word == "True") return true;
  if (*word == "false" || *word == "False") return false;
  problem(path, "'" + *word + "' is neither true nor false");
  return otherwise;
}

void KeyReader::problem(const std::string& path, std::string message, std::string hint) const {
  problems_.error(ExitCode::bad_file, where_, path, std::move(message), std::move(hint));
}

std::vector<std::string> judge_keys(const JsonValue& tree, const std::set<std::string>& asked,
                                    const UnreadTable& fates, const std::string& where,
                                    Diagnostics& problems) {
  Judge judge(asked, fates, where, problems);
  judge.walk(tree, "");
  return std::move(judge.lines);
}

}  // namespace pleat::interop
