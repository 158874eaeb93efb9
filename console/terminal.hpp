// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What whoever reads stdout can see: columns, and signs beyond ASCII.
#pragma once

#include <cstddef>

namespace pleat {

struct Terminal {
  std::size_t columns = 100;
  bool told = false;  // by COLUMNS or the terminal
  bool utf8 = false;

  [[nodiscard]] const char* plus_minus() const { return utf8 ? "\u00b1" : "+-"; }
};

// Columns: the variable COLUMNS, else those of the terminal, else 100. Never fewer than 40, and
// never more than 160, which no eye follows. UTF-8: where the locale has it.
[[nodiscard]] Terminal terminal();

}  // namespace pleat
