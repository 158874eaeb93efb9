// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Typed reading of one JSON object. Every problem goes into a Diagnostics with the full field path
// and the position; a getter that fails returns its fallback, so that reading goes on and all
// problems come at once. Call finish() last: it reports the keys nobody asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "core/units_text.hpp"

namespace pleat {

struct IntRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
struct DoubleRange {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  bool above_min = false;  // the minimum itself is not allowed
};
// Efficiencies and other factors of a rate. Nothing that runs is slower than the lowest.
inline constexpr DoubleRange kFraction{1e-4, 1.0};

struct ReaderContext {
  const std::string& file_name;
  Diagnostics& problems;
};

class ObjectReader {
 public:
  // `path` is the path of this object in the file ("" for the root). If `value` is no object, that
  // is the problem reported, and every required field reads as its default without further
  // complaint.
  ObjectReader(const JsonValue& value, std::string path, ReaderContext context);

  // --- required fields: a missing one is a problem
  std::int64_t integer(const std::string& key, IntRange range = {});
  double number(const std::string& key, DoubleRange range = {});
  bool boolean(const std::string& key);
  std::string text(const std::string& key);
  // One of `names`; returns its index (0 after a problem).
  std::size_t choice(const std::string& key, const std::vector<std::string>& names);
  template <class Q>
  Q quantity(const std::string& key, QuantityRange<Q> range = plausible_range<Q>());
  ObjectReader object(const std::string& key);
  const JsonValue::Array& array(const std::string& key);
  // A list of objects: calls read(ObjectReader) for each of them, "tiers[0]", "tiers[1]" …
  template <class Read>
  void each_object(const std::string& key, const Read& read) {
    read_each(key, array(key), read);
  }

  // --- optional fields: absent or null gives nothing
  std::optional<std::int64_t> optional_integer(const std::string& key, IntRange range = {});
  std::optional<double> optional_number(const std::string& key, DoubleRange range = {});
  std::optional<bool> optional_boolean(const std::string& key);
  std::optional<std::string> optional_text(const std::string& key);
  std::optional<std::size_t> optional_choice(const std::string& key,
                                             const std::vector<std::string>& names);
  template <class Q>
  std::optional<Q> optional_quantity(const std::string& key,
                                     QuantityRange<Q> range = plausible_range<Q>());
  std::optional<ObjectReader> optional_object(const std::string& key);
  const JsonValue::Array* optional_array(const std::string& key);
  template <class Read>
  void each_optional_object(const std::string& key, const Read& read) {
    if (const JsonValue::Array* items = optional_array(key)) read_each(key, *items, read);
  }

  // The value under `key`, marked as read; nullptr if absent.
  const JsonValue* find(const std::string& key);
  [[nodiscard]] bool has(const std::string& key) const { return value_.find(key) != nullptr; }

  // The file names a schema version; this project reads `version`.
  void schema_version(std::int64_t version);

  // A problem with this object or one of its fields, in the words of the caller.
  void problem(const std::string& key, std::string message, std::string hint = {});

  // Reports every key that was not read: "unknown field; did you mean expert?".
  void finish();
  // The keys that were not read, in file order (for foreign files, where they are no error).
  [[nodiscard]] std::vector<std::string> unread() const;

  [[nodiscard]] std::string path_of(const std::string& key) const;
  [[nodiscard]] const JsonValue& value() const { return value_; }
  [[nodiscard]] ReaderContext context() const { return {file_name_, problems_}; }
  [[nodiscard]] bool is_object() const { return value_.is_object(); }
  // For objects whose keys are names: nothing where this is no object. Each is read by its key.
  [[nodiscard]] const JsonValue::Object& members() const { return value_.members(); }

 private:
  template <class Read>
  void read_each(const std::string& key, const JsonValue::Array& items, const Read& read) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      read(ObjectReader(items[i], path_of(key) + "[" + std::to_string(i) + "]", context()));
    }
  }
  const JsonValue* required(const std::string& key);
  const JsonValue* optional(const std::string& key);  // nullptr for null too
  void wrong_type(const std::string& key, const JsonValue& value, std::string_view expected,
                  std::string hint = {});

  const JsonValue& value_;
  std::string path_;
  const std::string& file_name_;
  Diagnostics& problems_;
  std::vector<std::string> known_;  // every key asked for
};

// The word of an enum's value, where `names` stand in the enum's order.
template <class Enum>
[[nodiscard]] const std::string& name_in(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace pleat
