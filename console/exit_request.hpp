// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A command that ends in good order before it is done, or with another program's exit code.
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
