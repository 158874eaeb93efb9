// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/json_mutator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"

namespace pleat::fuzz {
namespace {

class Mutator {
 public:
  Mutator(JsonValue& root, std::uint32_t seed) : root_(root), random_(seed) {}

  void change() {
    for (std::size_t left = 1 + below(3); left > 0; --left) {
      values_.clear();
      parents_.clear();
      list(root_);
      change_one();
    }
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  void list(JsonValue& v) {
    values_.push_back(&v);
    if (!v.items().empty() || !v.members().empty()) parents_.push_back(&v);
    if (v.is_array())
      for (JsonValue& item : v.mutable_items()) list(item);
    if (v.is_object())
      for (JsonMember& member : v.mutable_members()) list(member.value);
  }

  void change_one() {
    JsonValue& value = *values_[below(values_.size())];
    switch (below(8)) {
      case 0:
      case 1:
        value = extreme();
        return;
      case 2:
      case 3:
        nudge(value);
        return;
      case 4: {  // a value of the document in another place
        const JsonValue copy = *values_[below(values_.size())];
        value = copy;
        return;
      }
      default:
        change_members();
    }
  }

  void change_members() {
    if (parents_.empty()) return;
    JsonValue& parent = *parents_[below(parents_.size())];
    if (parent.is_array()) {
      JsonValue::Array& items = parent.mutable_items();
      const auto place = items.begin() + static_cast<std::ptrdiff_t>(below(items.size()));
      const JsonValue copy = *place;
      if (below(2) == 0)
        items.erase(place);
      else
        items.insert(place, 1 + below(4), copy);
      return;
    }
    auto& members = parent.mutable_members();
    const std::size_t at = below(members.size());
    const auto place = members.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(4)) {
      case 0:
        members.erase(place);
        return;
      case 1:  // the key of another
        place->key = members[below(members.size())].key;
        return;
      case 2:
        place->key += static_cast<char>('a' + below(26));
        return;
      default: {
        const JsonMember copy = *place;
        members.push_back(copy);
        members.back().key += '2';
      }
    }
  }

  JsonValue extreme() {
    using Limits = std::numeric_limits<std::int64_t>;
    static const std::array<std::int64_t, 16> kIntegers = {0,
                                                           1,
                                                           -1,
                                                           2,
                                                           3,
                                                           7,
                                                           64,
                                                           1000,
                                                           65536,
                                                           2147483647,
                                                           2147483648,
                                                           4294967296,
                                                           1'000'000'000'000,
                                                           Limits::max(),
                                                           Limits::min(),
                                                           -2147483649};
    static const std::array<double, 10> kDoubles = {0.5,   -0.5,   1e-320,    1e-30, 1e30,
                                                    1e308, -1e308, 1.0000001, 0.0,   -0.0};
    static const std::array<const char*, 16> kTexts = {"",
                                                       " ",
                                                       "a",
                                                       "-1",
                                                       "0",
                                                       "1e999 TFLOP/s",
                                                       "1e-320 GB/s",
                                                       "-3 us",
                                                       "0 GiB",
                                                       "1 TiB",
                                                       "900 GB/s",
                                                       "none",
                                                       "\xEF\xBF\xBD",
                                                       "../../x",
                                                       "E|t*9999999999|L",
                                                       "(((((((("};
    switch (below(7)) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return kIntegers[below(kIntegers.size())];
      case 3:
        return kDoubles[below(kDoubles.size())];
      case 4:
        return kTexts[below(kTexts.size())];
      case 5:
        return JsonValue::array();
      default:
        return JsonValue::object();
    }
  }

  void nudge(JsonValue& value) {
    if (const auto* const i = value.as_integer()) {
      const auto bits = static_cast<std::uint64_t>(*i);
      const std::array<std::uint64_t, 8> next = {bits + 1,   bits - 1,         bits * 2,
                                                 bits / 2,   0 - bits,         bits * 10,
                                                 bits + 100, bits << below(40)};
      value = static_cast<std::int64_t>(next[below(next.size())]);
    } else if (const auto* const d = value.as_double()) {
      const std::array<double, 6> factors = {-1, 2, 0.5, 1e9, 1e-9, 1 + 1e-9};
      const double next = *d * factors[below(factors.size())];
      value = next - next == 0 ? next : *d;
    } else if (const auto* const b = value.as_bool()) {
      value = !*b;
    } else if (const auto* const s = value.as_string()) {
      value = changed_text(*s);
    } else {
      value = extreme();
    }
  }

  std::string changed_text(std::string s) {
    if (s.empty()) return "x";
    const std::size_t at = below(s.size());
    switch (below(4)) {
      case 0:
        s.erase(at, 1 + below(4));
        break;
      case 1:
        s.insert(at, 1 + below(3), static_cast<char>(' ' + below(95)));
        break;
      case 2:
        s += s;
        break;
      default:
        s[at] = static_cast<char>(' ' + below(95));
    }
    return s;
  }

  JsonValue& root_;
  std::minstd_rand random_;
  std::vector<JsonValue*> values_, parents_;
};

// Most inputs are what the last change made, for the fuzzer makes several in a row: its tree is
// kept.
std::string mutate_document(std::string_view text, std::uint32_t seed) {
  static std::string last_text;
  static JsonValue last_root;
  try {
    if (last_text.empty() || text != last_text)
      last_root = parse_json(std::string(text), "input", {.allow_duplicate_keys = true});
    last_text.clear();
    Mutator(last_root, seed).change();
    std::string changed = last_root.dump(0);
    // Text that is no UTF-8 would not be read: the next change is to its bytes.
    const bool ascii = std::all_of(changed.begin(), changed.end(), [](char c) { return c > 0; });
    if (ascii) last_text = changed;
    return changed;
  } catch (const ConfigError&) {
    return {};
  }
}

std::string mutate_line(std::string_view text, std::uint32_t seed) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.empty()) return {};
  std::string& line = lines[seed % lines.size()];
  line = mutate_document(line, seed);
  if (line.empty()) return {};
  std::string out;
  for (const std::string& l : lines) out += l + "\n";
  return out;
}

std::string mutate_header(std::string_view bytes, std::uint32_t seed) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > bytes.size()) return {};
  const std::string header = mutate_document(bytes.substr(0, length), seed);
  if (header.empty()) return {};
  const std::string_view data = bytes.substr(length);
  length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + std::string(data);
}

}  // namespace

std::string mutate(std::string_view input, Form form, std::uint32_t seed) {
  switch (form) {
    case Form::json:
      return mutate_document(input, seed);
    case Form::json_lines:
      return mutate_line(input, seed);
    case Form::length_json:
      return mutate_header(input, seed);
    case Form::bytes:
      break;
  }
  return {};
}

}  // namespace pleat::fuzz
