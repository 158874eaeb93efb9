// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/hf_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pleat {

bool HfFields::has(const std::string& name) const {
  const JsonValue* value = reader_.value().find(name);
  return value != nullptr && !value->is_null();
}

std::string HfFields::present(const FieldNames& names) {
  const std::string* found = nullptr;
  for (const std::string& name : names) {
    reader_.find(name);  // known to this family, whichever of the names the file uses
    if (found == nullptr && has(name)) found = &name;
  }
  return found != nullptr ? *found : names.front();
}

std::optional<std::int64_t> HfFields::optional_integer(const FieldNames& names, IntRange range) {
  return reader_.optional_integer(present(names), range);
}

std::int64_t HfFields::integer(const FieldNames& names, const std::string& meaning,
                               IntRange range) {
  const std::string name = present(names);
  if (has(name)) return reader_.optional_integer(name, range).value_or(0);
  std::string hint = fmt::format("an integer from {} to {}", range.min, range.max);
  if (names.size() > 1)
    hint += fmt::format("; also read as {}", fmt::join(names.begin() + 1, names.end(), ", "));
  if (reader_.is_object()) reader_.problem(name, fmt::format("missing ({})", meaning), hint);
  return 0;
}

std::int64_t HfFields::integer_or(const FieldNames& names, IntRange range, std::int64_t fallback,
                                  const std::string& why) {
  const std::string name = present(names);
  if (has(name)) return reader_.optional_integer(name, range).value_or(fallback);
  assume(fmt::format("{}: taken as {} ({})", name, fallback, why));
  return fallback;
}

std::optional<std::int64_t> HfFields::of_all_layers(const FieldNames& names, IntRange range) {
  const std::string name = present(names);
  const JsonValue* value = reader_.value().find(name);
  if (value == nullptr || !value->is_array()) return reader_.optional_integer(name, range);
  std::optional<std::int64_t> same;
  for (const JsonValue& item : value->items()) {
    const std::int64_t* entry = item.as_integer();
    if (entry == nullptr || *entry < range.min || *entry > range.max) {
      reader_.problem(name, fmt::format("entry {}", item.brief()),
                      fmt::format("integers from {} to {}", range.min, range.max));
      return std::nullopt;
    }
    if (same && *same != *entry) {
      reader_.problem(name, fmt::format("{} in one layer and {} in another", *same, *entry),
                      "the same for every layer: others are not told apart");
      return std::nullopt;
    }
    same = *entry;
  }
  return same;
}

double HfFields::number_or(const FieldNames& names, DoubleRange range, double fallback,
                           const std::string& why) {
  const std::string name = present(names);
  if (has(name)) return reader_.optional_number(name, range).value_or(fallback);
  assume(fmt::format("{}: taken as {} ({})", name, fallback, why));
  return fallback;
}

bool HfFields::boolean_or(const FieldNames& names, bool fallback, const std::string& why) {
  const std::string name = present(names);
  if (has(name)) return reader_.optional_boolean(name).value_or(fallback);
  assume(fmt::format("{}: taken as {} ({})", name, fallback, why));
  return fallback;
}

}  // namespace pleat
