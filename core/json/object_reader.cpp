// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One convert function a type; the public getters differ only in what an absent field means.
#include "core/json/object_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/json/parse.hpp"

namespace pleat {
namespace {

// More unknown keys than this are summed up in one line.
constexpr std::size_t kMaxUnknownReports = 20;

const JsonValue::Array kNoItems;
const JsonValue kAbsent;  // stands for a missing object, which has been reported once

std::string range_text(IntRange r) {
  const IntRange all;
  if (r.min == all.min && r.max == all.max) return "";
  if (r.max == all.max) return fmt::format("at least {}", r.min);
  return fmt::format("from {} to {}", r.min, r.max);
}

std::string range_text(DoubleRange r) {
  const DoubleRange all;
  if (r.min == all.min && r.max == all.max) return "";
  const std::string low = fmt::format("{} {}", r.above_min ? "above" : "at least", r.min);
  return r.max == all.max ? low : fmt::format("{}, at most {}", low, r.max);
}

std::string allowed(const std::string& range) { return range.empty() ? "" : "allowed: " + range; }

}  // namespace

ObjectReader::ObjectReader(const JsonValue& value, std::string path, ReaderContext context)
    : value_(value),
      path_(std::move(path)),
      file_name_(context.file_name),
      problems_(context.problems) {
  if (!is_object() && &value != &kAbsent) {
    problems_.error(ExitCode::bad_file, where_of(file_name_, value.position()), path_,
                    fmt::format("must be an object, not {}", value.brief()));
  }
}

std::string ObjectReader::path_of(const std::string& key) const {
  if (key.empty()) return path_;
  return path_.empty() ? key : path_ + "." + key;
}

const JsonValue* ObjectReader::find(const std::string& key) {
  if (known_.empty()) known_.reserve(members().size() + 8);
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return value_.find(key);
}

const JsonValue* ObjectReader::optional(const std::string& key) {
  const JsonValue* found = find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const JsonValue* ObjectReader::required(const std::string& key) {
  const JsonValue* found = find(key);
  if (found == nullptr && is_object()) problem(key, "missing");
  return found;
}

void ObjectReader::problem(const std::string& key, std::string message, std::string hint) {
  const JsonValue* at = key.empty() ? nullptr : value_.find(key);
  problems_.error(ExitCode::bad_file, where_of(file_name_, (at ? *at : value_).position()),
                  path_of(key), std::move(message), std::move(hint));
}

void ObjectReader::wrong_type(const std::string& key, const JsonValue& value,
                              std::string_view expected, std::string hint) {
  problem(key,
          fmt::format("must be {}, not {}{}", expected,
                      value.as_string() != nullptr ? "the string " : "", value.brief()),
          std::move(hint));
}

// --- integers, numbers, booleans, strings

std::optional<std::int64_t> ObjectReader::optional_integer(const std::string& key, IntRange range) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  const std::int64_t* value = found->as_integer();
  if (value == nullptr) {
    wrong_type(key, *found, "an integer", allowed(range_text(range)));
    return std::nullopt;
  }
  if (*value < range.min || *value > range.max) {
    problem(key, fmt::format("{} is out of range", *value), allowed(range_text(range)));
    return std::nullopt;
  }
  return *value;
}

std::optional<double> ObjectReader::optional_number(const std::string& key, DoubleRange range) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  double value = 0;
  if (const double* number = found->as_double()) {
    value = *number;
  } else if (const std::int64_t* integer = found->as_integer()) {
    value = static_cast<double>(*integer);
  } else {
    wrong_type(key, *found, "a number", allowed(range_text(range)));
    return std::nullopt;
  }
  if (!std::isfinite(value)) {
    problem(key, found->brief() + " is not a JSON number", allowed(range_text(range)));
    return std::nullopt;
  }
  if (value < range.min || value > range.max || (range.above_min && value == range.min)) {
    problem(key, fmt::format("{} is out of range", value), allowed(range_text(range)));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> ObjectReader::optional_boolean(const std::string& key) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  if (const bool* value = found->as_bool()) return *value;
  wrong_type(key, *found, "true or false");
  return std::nullopt;
}

std::optional<std::string> ObjectReader::optional_text(const std::string& key) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  if (const std::string* value = found->as_string()) return *value;
  wrong_type(key, *found, "a string");
  return std::nullopt;
}

std::optional<std::size_t> ObjectReader::optional_choice(const std::string& key,
                                                         const std::vector<std::string>& names) {
  const std::optional<std::string> name = optional_text(key);
  if (!name) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string near = nearest_name(*name, names);
  problem(key,
          fmt::format("unknown value {}{}", JsonValue(*name).brief(),
                      near.empty() ? "" : "; did you mean \"" + near + "\"?"),
          fmt::format("one of: {}", fmt::join(names, ", ")));
  return std::nullopt;
}

template <class Q>
std::optional<Q> ObjectReader::optional_quantity(const std::string& key, QuantityRange<Q> range) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  const std::string* value = found->as_string();
  if (value == nullptr) {
    wrong_type(key, *found, "a string with a unit", quantity_hint(range));
    return std::nullopt;
  }
  ParsedQuantity<Q> parsed = parse_quantity(*value, range);
  if (!parsed.value) problem(key, std::move(parsed.problem), std::move(parsed.hint));
  return parsed.value;
}

// --- nested values

std::optional<ObjectReader> ObjectReader::optional_object(const std::string& key) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return std::nullopt;
  return ObjectReader(*found, path_of(key), context());
}

const JsonValue::Array* ObjectReader::optional_array(const std::string& key) {
  const JsonValue* found = optional(key);
  if (found == nullptr) return nullptr;
  if (found->is_array()) return &found->items();
  wrong_type(key, *found, "an array");
  return nullptr;
}

// --- required twins

std::int64_t ObjectReader::integer(const std::string& key, IntRange range) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "an integer");
  return optional_integer(key, range).value_or(0);
}

double ObjectReader::number(const std::string& key, DoubleRange range) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "a number");
  return optional_number(key, range).value_or(0);
}

bool ObjectReader::boolean(const std::string& key) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "true or false");
  return optional_boolean(key).value_or(false);
}

std::string ObjectReader::text(const std::string& key) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "a string");
  return optional_text(key).value_or("");
}

std::size_t ObjectReader::choice(const std::string& key, const std::vector<std::string>& names) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "a string");
  return optional_choice(key, names).value_or(0);
}

template <class Q>
Q ObjectReader::quantity(const std::string& key, QuantityRange<Q> range) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "a string with a unit");
  return optional_quantity<Q>(key, range).value_or(Q());
}

ObjectReader ObjectReader::object(const std::string& key) {
  const JsonValue* found = required(key);
  return ObjectReader(found != nullptr ? *found : kAbsent, path_of(key), context());
}

const JsonValue::Array& ObjectReader::array(const std::string& key) {
  const JsonValue* found = required(key);
  if (found != nullptr && found->is_null()) wrong_type(key, *found, "an array");
  const JsonValue::Array* items = optional_array(key);
  return items != nullptr ? *items : kNoItems;
}

// --- the whole object

void ObjectReader::schema_version(std::int64_t version) {
  const JsonValue* found = required("schema_version");
  if (found == nullptr) return;
  const std::int64_t* value = found->as_integer();
  if (value == nullptr || *value != version) {
    problem("schema_version", fmt::format("{} cannot be read", found->brief()),
            fmt::format("this version of pleat reads schema_version {}", version));
  }
}

std::vector<std::string> ObjectReader::unread() const {
  std::vector<std::string> keys;
  for (const JsonMember& member : members()) {
    if (std::find(known_.begin(), known_.end(), member.key) == known_.end()) {
      keys.push_back(member.key);
    }
  }
  return keys;
}

void ObjectReader::finish() {
  const std::vector<std::string> unknown = unread();
  if (unknown.empty()) return;
  std::vector<std::string> free;  // known fields that the object does not have yet
  for (const std::string& key : known_) {
    if (!has(key)) free.push_back(key);
  }
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (i == kMaxUnknownReports) {
      problem("", fmt::format("{} more unknown fields", unknown.size() - i));
      return;
    }
    std::string near = nearest_name(unknown[i], free);
    if (near.empty()) near = nearest_name(unknown[i], known_);
    const auto member = std::ranges::find(members(), unknown[i], &JsonMember::key);
    problems_.error(
        ExitCode::bad_file, where_of(file_name_, member->position), path_of(unknown[i]),
        near.empty() ? "unknown field" : fmt::format("unknown field; did you mean {}?", near),
        fmt::format("known fields: {}", fmt::join(known_, ", ")));
  }
}

#define PLEAT_READ_QUANTITY(Q)                                                     \
  template Q ObjectReader::quantity<Q>(const std::string&, QuantityRange<Q>);      \
  template std::optional<Q> ObjectReader::optional_quantity<Q>(const std::string&, \
                                                               QuantityRange<Q>);
PLEAT_READ_QUANTITY(Bytes)
PLEAT_READ_QUANTITY(Seconds)
PLEAT_READ_QUANTITY(Flops)
PLEAT_READ_QUANTITY(BytesPerSecond)
PLEAT_READ_QUANTITY(FlopsPerSecond)
PLEAT_READ_QUANTITY(Dollars)
PLEAT_READ_QUANTITY(Watts)
#undef PLEAT_READ_QUANTITY

}  // namespace pleat
