// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Thrown to end the program with a certain exit code: a command that was stopped in good order, or
// one that passes on the exit code of a program that it ran.
#pragma once

#include <stdexcept>
#include <string>

namespace pleat {

class ExitRequest : public std::runtime_error {
 public:
  ExitRequest(int exit_code, const std::string& message)  // empty: nothing is said
      : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace pleat
