// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Text that fits so many columns. Lines break between fields or words and never inside one: what is
// longer than a line by itself stays whole. Every text ends with a newline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pleat {

// Characters on screen: UTF-8 continuation bytes take no room.
[[nodiscard]] std::size_t shown_width(const std::string&);

// What stands before the first line, and before those that follow it.
struct Indent {
  std::string first, rest;
};

// Words of a text; a number stays with its unit, and the two sides of "->" together.
[[nodiscard]] std::vector<std::string> words_of(const std::string&);

// Prose. Newlines in it stay; each line of it starts with `first`.
[[nodiscard]] std::string wrap_words(const std::string& text, std::size_t columns,
                                     const Indent& = {});

// Lines that are too long, at their words, what follows four columns further in; others stay.
[[nodiscard]] std::string wrap_long_lines(const std::string& text, std::size_t columns);

// Fields with a separator between them: ", ". One that is longer than a line breaks at its words.
[[nodiscard]] std::string wrap_fields(const std::vector<std::string>& fields,
                                      const std::string& separator, std::size_t columns,
                                      const Indent& = {});

// A command to paste: breaks before options, with a backslash.
[[nodiscard]] std::string wrap_command(const std::string& command, std::size_t columns,
                                       const Indent& = {});

// "memory   12 GiB of 80 GiB, 68 GiB free": a name and what is known under it.
struct Fact {
  std::string name;
  std::vector<std::string> fields;
  std::string separator = ", ";
};

// One below the other, names in a column of their own; those without fields are left out.
[[nodiscard]] std::string facts_text(const std::vector<Fact>&, std::size_t columns,
                                     const std::string& before = "");

}  // namespace pleat
