// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// nlohmann's event parser checks the syntax; the builder here makes the positioned tree and the
// checks that nlohmann leaves out. How to read it: find_non_finite, then TreeBuilder, then
// parse_json.
#include "core/json/parse.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/json/text_cursor.hpp"

namespace pleat {
namespace {

struct NonFinite {
  std::string word;
  double value;
  Position position;
};

// Finds NaN, Infinity and -Infinity outside strings and blanks them to "0", so that the syntax
// check goes on behind them. Keyed by offset.
std::map<std::size_t, NonFinite> find_non_finite(std::string& text) {
  std::map<std::size_t, NonFinite> found;
  if (text.find("NaN") == std::string::npos && text.find("Infinity") == std::string::npos) {
    return found;
  }
  const std::string original = text;
  for (TextCursor cursor(original); !cursor.at_end();) {
    const std::string word(cursor.word());
    if (cursor.here() == '"') {
      cursor.skip_string();
    } else if (word.empty()) {
      cursor.step();
    } else {
      if (word == "NaN" || word == "Infinity" || word == "-Infinity") {
        const double infinity = std::numeric_limits<double>::infinity();
        const double value = word == "NaN"    ? std::numeric_limits<double>::quiet_NaN()
                             : word[0] == '-' ? -infinity
                                              : infinity;
        found[cursor.offset()] = {word, value, cursor.position()};
        text.replace(cursor.offset(), word.size(), "0" + std::string(word.size() - 1, ' '));
      }
      cursor.skip_word();
    }
  }
  return found;
}

// Text from a file in a message: short, and without control characters that a terminal would obey.
std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return text.size() > limit ? out + "..." : out;
}

class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  TreeBuilder(const std::string& text, const std::string& file,
              std::map<std::size_t, NonFinite> non_finite, bool allow_duplicate_keys,
              Diagnostics& problems)
      : text_(text),
        cursor_(text),
        file_(file),
        non_finite_(std::move(non_finite)),
        allow_duplicate_keys_(allow_duplicate_keys),
        problems_(problems) {}

  // --- events of nlohmann's parser; false stops it
  bool null() { return word_value(JsonValue()); }
  bool boolean(bool value) { return word_value(JsonValue(value)); }
  bool number_integer(number_integer_t value) { return word_value(JsonValue(value)); }
  bool number_unsigned(number_unsigned_t value) {
    cursor_.skip_separators();
    if (const auto found = non_finite_.find(cursor_.offset()); found != non_finite_.end()) {
      return word_value(JsonValue(found->second.value));
    }
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return integer_too_large();
    }
    return word_value(JsonValue(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& literal) {
    cursor_.skip_separators();
    if (literal.find_first_of(".eE") == string_t::npos) return integer_too_large();
    return word_value(JsonValue(value));
  }
  bool string(string_t& value) {
    cursor_.skip_separators();
    const Position position = cursor_.position();
    cursor_.skip_string();
    if (!check_length(value, position)) return false;
    return add(JsonValue(std::move(value)), position);
  }
  bool binary(binary_t&) { return false; }  // not in JSON text
  bool start_object(std::size_t) { return open(JsonValue::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(JsonValue::array()); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    cursor_.skip_separators();
    const Position position = cursor_.position();
    cursor_.skip_string();
    if (!check_length(name, position)) return false;
    const auto [first, fresh] = frames_.back().keys.emplace(name, position);
    if (!fresh && !allow_duplicate_keys_) {
      problems_.error(ExitCode::bad_file, where_of(file_, position), path(name),
                      fmt::format("duplicate key; first at line {}, column {}", first->second.line,
                                  first->second.column),
                      "keep one of the two");
    }
    frames_.back().key = std::move(name);
    frames_.back().key_position = position;
    return true;
  }

  bool parse_error(std::size_t offset, const std::string&, const nlohmann::detail::exception& e) {
    TextCursor token = cursor_;
    token.skip_separators();
    const std::string word(token.word());
    if (e.id == 406) {  // out_of_range: the number is no double
      error(token.position(),
            fmt::format("{} is not a JSON number: too large for a double", printable(word, 40)));
      return false;
    }
    if (word == "nan" || word == "inf" || word == "-inf" || word == "-nan") {
      error(token.position(), word + " is not a JSON number");
      return false;
    }
    cursor_.move_to(offset == 0 ? 0 : offset - 1);
    std::string reason = e.what();
    if (const auto cut = reason.find(": ", reason.find("column")); cut != std::string::npos) {
      reason.erase(0, cut + 2);
    }
    const std::size_t begin = text_.rfind('\n', cursor_.offset() == 0 ? 0 : cursor_.offset() - 1);
    const std::size_t line = begin == std::string::npos ? 0 : begin + 1;
    const std::string excerpt = text_.substr(line, text_.find('\n', line) - line);
    error(cursor_.position(), "not valid JSON: " + printable(reason, 200),
          excerpt.empty() ? "" : "the line reads: " + printable(excerpt, 100));
    return false;
  }

  JsonValue root;

 private:
  struct Frame {
    JsonValue value;
    std::unordered_map<std::string, Position> keys;
    std::string key;
    Position key_position;
  };

  void error(Position position, std::string message, std::string hint = {}) {
    problems_.error(ExitCode::bad_file, where_of(file_, position), path(""), std::move(message),
                    std::move(hint));
  }

  // Path of the value being read; `name` replaces the current key of the innermost object.
  std::string path(const std::string& name) const {
    std::string text;
    for (const Frame& frame : frames_) {
      if (frame.value.is_array()) {
        text += fmt::format("[{}]", frame.value.items().size());
      } else {
        const bool last = &frame == &frames_.back();
        const std::string& key = last && !name.empty() ? name : frame.key;
        if (!key.empty()) text += (text.empty() ? "" : ".") + printable(key, 80);
      }
    }
    return text;
  }

  bool integer_too_large() {
    error(cursor_.position(), printable(cursor_.word(), 40) + " does not fit a 64-bit integer");
    return word_value(JsonValue());
  }

  bool check_length(const std::string& text, Position position) {
    if (text.size() <= kMaxJsonString) return true;
    error(position,
          fmt::format("string of {} bytes; at most {} are allowed", text.size(), kMaxJsonString));
    return false;
  }

  bool word_value(JsonValue value) {
    cursor_.skip_separators();
    const Position position = cursor_.position();
    cursor_.skip_word();
    return add(std::move(value), position);
  }

  bool add(JsonValue value, Position position) {
    value.set_position(position);
    if (++values_ > kMaxJsonValues) {
      error(position, fmt::format("more than {} values in one document", kMaxJsonValues));
      return false;
    }
    return attach(std::move(value));
  }

  bool attach(JsonValue value) {
    if (frames_.empty()) {
      root = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    std::size_t size = 0;
    if (frame.value.is_array()) {
      JsonValue::Array& items = frame.value.mutable_items();
      items.push_back(std::move(value));
      size = items.size();
    } else {
      JsonValue::Object& members = frame.value.mutable_members();
      members.push_back({std::move(frame.key), frame.key_position, std::move(value)});
      frame.key.clear();
      size = members.size();
    }
    if (size <= kMaxJsonItems) return true;
    error(frame.value.position(),
          fmt::format("more than {} entries in one array or object", kMaxJsonItems));
    return false;
  }

  bool open(JsonValue value) {
    cursor_.skip_separators();
    value.set_position(cursor_.position());
    if (frames_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) {
      problems_.error(ExitCode::bad_file, where_of(file_, cursor_.position()), "",
                      fmt::format("nested deeper than {} levels", kMaxJsonDepth));
      return false;
    }
    cursor_.step();
    frames_.push_back({std::move(value), {}, {}, {}});
    return true;
  }

  bool close() {
    cursor_.skip_separators();
    cursor_.step();
    JsonValue value = std::move(frames_.back().value);
    frames_.pop_back();
    const Position position = value.position();
    return add(std::move(value), position);
  }

  const std::string& text_;
  TextCursor cursor_;
  const std::string& file_;
  std::map<std::size_t, NonFinite> non_finite_;
  bool allow_duplicate_keys_;
  Diagnostics& problems_;
  std::vector<Frame> frames_;
  std::size_t values_ = 0;
};

}  // namespace

std::string where_of(const std::string& file_name, Position position) {
  if (position.line == 0) return file_name;
  return fmt::format("{}:{}:{}", file_name, position.line, position.column);
}

JsonValue parse_json(const std::string& text, const std::string& file_name, JsonOptions options) {
  if (text.size() > options.max_bytes) {
    throw_config_error(
        ExitCode::bad_file, file_name, "",
        fmt::format("{} bytes; at most {} are allowed", text.size(), options.max_bytes));
  }
  Diagnostics problems;
  std::string clean = text;
  auto non_finite = find_non_finite(clean);
  if (!options.allow_non_finite) {
    for (const auto& [offset, number] : non_finite) {
      problems.error(ExitCode::bad_file, where_of(file_name, number.position), "",
                     number.word + " is not a JSON number", "write a finite number");
    }
  }
  TreeBuilder builder(clean, file_name, std::move(non_finite), options.allow_duplicate_keys,
                      problems);
  const bool complete = nlohmann::json::sax_parse(clean, &builder);
  problems.throw_if_errors();
  PLEAT_ASSERT(complete);
  return std::move(builder.root);
}

}  // namespace pleat
