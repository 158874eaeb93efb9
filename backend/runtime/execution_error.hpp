// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A program that cannot be executed as written: an operation touches a tensor outside its lifetime,
// shapes disagree, something is left over at the end. Our bug or a mutated program, never the
// user's.
#pragma once

#include <stdexcept>
#include <string>

namespace pleat {

class ExecutionError : public std::logic_error {
 public:
  explicit ExecutionError(const std::string& message) : std::logic_error(message) {}
};

}  // namespace pleat
