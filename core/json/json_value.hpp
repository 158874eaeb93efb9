// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A JSON document as a tree: objects keep their order, integers stay integers, and every value read
// from a file knows where it stood. Parsing is in parse.hpp, typed reading in object_reader.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pleat {

// 1-based; column counts characters. line 0: not from a file.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

struct JsonMember;

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object>;

  // Whatever makes or destroys data_ is defined below, where JsonMember is complete.
  JsonValue();  // null
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();
  JsonValue(bool value);
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) JsonValue(T value)
      : JsonValue(Integer{static_cast<std::int64_t>(value)}) {}
  JsonValue(double value);
  // Null for NaN and infinities, which JSON does not have.
  [[nodiscard]] static JsonValue finite(double value);
  JsonValue(std::string value);
  JsonValue(std::string_view value) : JsonValue(std::string(value)) {}
  JsonValue(const char* value) : JsonValue(std::string(value)) {}

  [[nodiscard]] static JsonValue array();
  [[nodiscard]] static JsonValue object();

  // Builders. `set` replaces the value of an existing key; both return *this for chaining.
  JsonValue& set(std::string key, JsonValue value);
  JsonValue& push_back(JsonValue value);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  // nullptr when the value has another type.
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&data_); }
  [[nodiscard]] const double* as_double() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }

  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(data_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(data_); }
  // Nothing when this is no array or no object: a value of the wrong type is safe to walk over.
  [[nodiscard]] const Array& items() const;
  [[nodiscard]] const Object& members() const;
  // To change them. Asserts the type: for values that this program has made.
  [[nodiscard]] Array& mutable_items();
  [[nodiscard]] Object& mutable_members();

  // The member of that name, or nullptr (also when this is no object).
  [[nodiscard]] const JsonValue* find(std::string_view key) const;

  // "null", "true or false", "integer", "number", "string", "array", "object".
  [[nodiscard]] std::string_view type_name() const;
  // The value in a message: scalars as JSON (long strings cut), "an array", "an object".
  [[nodiscard]] std::string brief() const;

  // JSON text: members in order, numbers with the fewest digits that read back exactly. indent 0:
  // one line. With an indent, arrays of scalars stay on one line, or have a line for each item. No
  // final newline.
  enum class ScalarArrays : std::uint8_t { one_line, line_each };
  [[nodiscard]] std::string dump(int indent = 2, ScalarArrays = ScalarArrays::one_line) const;

  [[nodiscard]] Position position() const { return position_; }
  void set_position(Position position) { position_ = position; }

  // Equal content; positions are not compared.
  bool operator==(const JsonValue& other) const;

 private:
  struct Integer {
    std::int64_t value;
  };
  explicit JsonValue(Integer integer);
  explicit JsonValue(Data data);

  Data data_;
  Position position_;
};

struct JsonMember {
  std::string key;
  Position position;  // of the key
  JsonValue value;
  bool operator==(const JsonMember& o) const { return key == o.key && value == o.value; }
};

inline JsonValue::JsonValue() = default;
inline JsonValue::JsonValue(const JsonValue& other) = default;
inline JsonValue::JsonValue(JsonValue&& other) noexcept = default;
inline JsonValue& JsonValue::operator=(const JsonValue& other) = default;
inline JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
inline JsonValue::~JsonValue() = default;
inline JsonValue::JsonValue(bool value) : data_(value) {}
inline JsonValue::JsonValue(double value) : data_(value) {}
inline JsonValue::JsonValue(std::string value) : data_(std::move(value)) {}
inline JsonValue::JsonValue(Integer integer) : data_(integer.value) {}
inline JsonValue::JsonValue(Data data) : data_(std::move(data)) {}
inline JsonValue JsonValue::array() { return JsonValue(Data(Array{})); }
inline JsonValue JsonValue::object() { return JsonValue(Data(Object{})); }
inline bool JsonValue::operator==(const JsonValue& other) const { return data_ == other.data_; }

}  // namespace pleat
