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
void print_report(const std::string& text);  // the same, with colours where a terminal shows them
void flush_output();                       // throws OutputError
void note(const std::string& text);        // a line on stderr: warnings, file names
void be_quiet();                           // no notes but warnings from now on, and no progress
bool shows_progress();                     // whether stderr is a terminal, and nobody wants quiet
void progress(const std::string& text);    // replaces the progress line; empty: removes it
// Lines above the progress line, each shorter than the terminal is wide; they replace those that
// were there. Empty: removes both.
void progress_table(const std::string& lines);

}  // namespace pleat
