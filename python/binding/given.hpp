// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Arguments from Python, named as the options of the command line with underscores, as the words
// and numbers that options would have brought. A value of a wrong type is a TypeError; one that no
// option would take is the command line's ConfigError, with its text.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pleat::python {

class Given {
 public:
  // `command` is what the hints name: "predict".
  Given(const nanobind::dict& values, std::string command);

  [[nodiscard]] bool has(const std::string& option) const;  // "--seq-len"

  // Each takes the argument of an option where it was given.
  void take(const std::string& option, std::string& value);
  void take(const std::string& option, std::optional<std::string>& value);
  void take(const std::string& option, std::vector<std::string>& value);  // or a single word
  void take(const std::string& option, bool& value);
  // Within these limits.
  void take(const std::string& option, int& value, int least, int most);
  void take(const std::string& option, std::int64_t& value, std::int64_t least, std::int64_t most);
  void take(const std::string& option, double& value, double least, double most);
  void take(const std::string& option, std::vector<int>& value, int least, int most);
  void take(const std::string& option, std::vector<std::int64_t>& value, std::int64_t least,
            std::int64_t most);
  template <class Number>
  void take(const std::string& option, std::optional<Number>& value, Number least, Number most) {
    if (has(option)) take(option, value.emplace(), least, most);
  }
  // One of these words.
  void take_one_of(const std::string& option, std::string& value,
                   const std::vector<std::string>& words);

  // ConfigError for arguments that nobody took.
  void finish() const;

  [[noreturn]] void refuse(const std::string& option, const std::string& problem) const;

 private:
  nanobind::object find(const std::string& option);  // and counts it as taken

  nanobind::dict values_;
  std::string command_;
  std::set<std::string> taken_, known_;
};

// "--seq-len" as "seq_len".
[[nodiscard]] std::string argument_name(std::string option);

}  // namespace pleat::python
