// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fields of a Hugging Face config.json: one quantity goes by several names in different families
// (first match wins), null means absent, and what is absent is supplied aloud, never silently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/object_reader.hpp"

namespace pleat {

using FieldNames = std::vector<std::string>;

class HfFields {
 public:
  HfFields(ObjectReader& reader, std::vector<std::string>& assumptions)
      : reader_(reader), assumptions_(assumptions) {}

  std::optional<std::int64_t> optional_integer(const FieldNames&, IntRange);
  // `meaning` is Pleat's name of the quantity. Returns 0 after a problem.
  std::int64_t integer(const FieldNames&, const std::string& meaning, IntRange);
  // Absent: `fallback`, with `why` in the list of assumptions.
  std::int64_t integer_or(const FieldNames&, IntRange, std::int64_t fallback,
                          const std::string& why);
  double number_or(const FieldNames&, DoubleRange, double fallback, const std::string& why);
  bool boolean_or(const FieldNames&, bool fallback, const std::string& why);
  std::optional<std::string> optional_text(const std::string& name) {
    return reader_.optional_text(name);
  }

  // The first name that the file has and that is not null, else the first name.
  std::string present(const FieldNames&);
  // Whether the field was there with a good value, or there with a bad one (already reported).
  [[nodiscard]] bool has(const std::string& name) const;
  // What the model has and a ModelSpec does not tell: never silently.
  void leave_out(std::string text) { left_out_.push_back(std::move(text)); }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  // A number, or a list with the same number for every layer.
  std::optional<std::int64_t> of_all_layers(const FieldNames&, IntRange);
  void assume(std::string text) { assumptions_.push_back(std::move(text)); }
  ObjectReader& reader() { return reader_; }

 private:
  ObjectReader& reader_;
  std::vector<std::string>& assumptions_;
  std::vector<std::string> left_out_;
};

}  // namespace pleat
