// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One parser under arbitrary input. A target may throw ConfigError: that is a message to the user.
// All else that leaves it, an assertion, a sanitizer's finding or a long time, is a fault.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pleat::fuzz {

// What the input looks like: the mutator changes the tree of a JSON document, not its bytes.
enum class Form : std::uint8_t {
  bytes,
  json,
  json_lines,   // one document a line
  length_json,  // 8 bytes little-endian, a JSON header of that length, then data (safetensors)
};

// Each target's file defines these two.
extern const Form kForm;
void run(std::string_view input);

// For what must hold of an input that was accepted.
inline void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

// run(), with the user's errors caught and looked at. True: the input was accepted.
bool run_checked(std::string_view input);

}  // namespace pleat::fuzz
