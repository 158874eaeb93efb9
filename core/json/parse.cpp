// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// nlohmann's event parser reads the text, and TreeBuilder makes the tree.
// How to read it: find_non_finite, then Events, then parse_json.
#include "core/json/parse.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json/text_cursor.hpp"
#include "core/json/tree_builder.hpp"

namespace pleat {
namespace {

struct NonFinite {
  std::string word;
  double value;
  Position position;
};

// Finds NaN, Infinity and -Infinity outside strings and blanks them to "0", so that the syntax
// check goes on behind them. Keyed by offset.
std::map<std::size_t, NonFinite> find_non_finite(std::string& text, int first_line) {
  std::map<std::size_t, NonFinite> found;
  if (text.find("NaN") == std::string::npos && text.find("Infinity") == std::string::npos) {
    return found;
  }
  const std::string original = text;
  for (TextCursor cursor(original, first_line); !cursor.at_end();) {
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

// What nlohmann's parser reports: tokens without their place, which the cursor follows.
class Events {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Events(const std::string& text, int first_line, std::map<std::size_t, NonFinite> non_finite,
         TreeBuilder& builder)
      : text_(text),
        cursor_(text, first_line),
        non_finite_(std::move(non_finite)),
        builder_(builder) {}

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
    const Position at = next();
    cursor_.skip_string();
    return builder_.text(std::move(value), at);
  }
  bool binary(binary_t&) { return false; }  // not in JSON text
  bool start_object(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(true); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    const Position at = next();
    cursor_.skip_string();
    return builder_.key(std::move(name), at);
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

 private:
  Position next() {
    cursor_.skip_separators();
    return cursor_.position();
  }

  void error(Position at, std::string message, std::string hint = {}) {
    builder_.error(at, std::move(message), std::move(hint));
  }

  bool integer_too_large() {
    error(cursor_.position(), printable(cursor_.word(), 40) + " does not fit a 64-bit integer");
    return word_value(JsonValue());
  }

  bool word_value(JsonValue value) {
    const Position at = next();
    cursor_.skip_word();
    return builder_.value(std::move(value), at);
  }

  bool open(bool is_array) {
    const Position at = next();
    cursor_.step();
    return builder_.open(is_array, at);
  }

  bool close() {
    cursor_.skip_separators();
    cursor_.step();
    return builder_.close();
  }

  const std::string& text_;
  TextCursor cursor_;
  std::map<std::size_t, NonFinite> non_finite_;
  TreeBuilder& builder_;
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
  auto non_finite = find_non_finite(clean, options.first_line);
  if (!options.allow_non_finite) {
    for (const auto& [offset, number] : non_finite) {
      problems.error(ExitCode::bad_file, where_of(file_name, number.position), "",
                     number.word + " is not a JSON number", "write a finite number");
    }
  }
  TreeBuilder builder(file_name, options.allow_duplicate_keys, problems);
  Events events(clean, options.first_line, std::move(non_finite), builder);
  const bool complete = nlohmann::json::sax_parse(clean, &events);
  problems.throw_if_errors();
  PLEAT_ASSERT(complete);
  return std::move(builder.root);
}

}  // namespace pleat
