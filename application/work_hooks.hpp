// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How long work speaks with who asked for it: a terminal, or a program that embeds Pleat.
#pragma once

#include <functional>
#include <string>

namespace pleat {

// Both may be empty, and are called by one thread at a time of those that work.
struct WorkHooks {
  std::function<bool()> keep_on;                // asked often; false: end with what there is
  std::function<void(const std::string&)> say;  // what begins now; an empty text: it is over
  [[nodiscard]] bool goes_on() const { return !keep_on || keep_on(); }
  void tell(const std::string& text) const {
    if (say) say(text);
  }
};

}  // namespace pleat
