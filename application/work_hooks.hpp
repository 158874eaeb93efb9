// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How long work speaks with who asked for it: a terminal, or a program that embeds Pleat.
#pragma once

#include <functional>
#include <string>

namespace pleat {

// Both may be empty.
struct WorkHooks {
  // Asked often, by several threads at once; false: end with what there is.
  std::function<bool()> keep_on;
  // What begins now, by one thread at a time; an empty text: it is over.
  std::function<void(const std::string&)> say;
  [[nodiscard]] bool goes_on() const { return !keep_on || keep_on(); }
  void tell(const std::string& text) const {
    if (say) say(text);
  }
};

}  // namespace pleat
