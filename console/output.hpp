// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Results go to stdout, progress to stderr and only when it is a terminal.
#pragma once

#include <stdexcept>
#include <string>

namespace pleat {

// stdout cannot be written; error_number is errno's.
class OutputError : public std::runtime_error {
 public:
  explicit OutputError(int error_number);
  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  int error_number_;
};

void print(const std::string& text);       // throws OutputError
void flush_output();                       // throws OutputError
void note(const std::string& text);        // a line on stderr, always: warnings, file names
bool shows_progress();                     // whether stderr is a terminal
void progress(const std::string& text);    // replaces the progress line; empty: removes it

}  // namespace pleat
