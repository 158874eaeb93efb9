// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Typed access to arguments, with every problem collected.
#pragma once

#include <optional>
#include <string>

#include "interop/flag_table.hpp"
#include "core/diagnostics.hpp"

namespace pleat::interop {

class ArgumentReader {
 public:
  ArgumentReader(const Arguments& values, std::string where, Diagnostics& problems)
      : values_(values), where_(std::move(where)), problems_(problems) {}

  // Absent, empty or None: nothing.
  [[nodiscard]] std::optional<std::string> text(const std::string& member) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& member) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& member) const;
  [[nodiscard]] std::optional<double> number(const std::string& member) const;
  [[nodiscard]] bool is_on(const std::string& member) const;   // given and true
  [[nodiscard]] bool is_off(const std::string& member) const;  // given and false
  [[nodiscard]] std::int64_t required(const std::string& member) const;
  void problem(const std::string& member, std::string message, std::string hint = {}) const;

 private:
  const Arguments& values_;
  std::string where_;
  Diagnostics& problems_;
};

}  // namespace pleat::interop
