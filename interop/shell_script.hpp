// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a shell script would run, found without running anything: variables, arrays, defaults,
// arithmetic, conditions, functions, loops over words and files that are given are followed.
// Commands are only collected. What a program would print is not known.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::interop {

// A value that is not known stands in words between these two: the name of the variable that
// nothing sets, or "output-of-" and the name of a program.
inline constexpr char kUnknownBegin = '\x01', kUnknownEnd = '\x02';
// The first such name in a word, empty if there is none.
[[nodiscard]] std::string unknown_part(std::string_view word);
// The word without what is not known.
[[nodiscard]] std::string known_part(std::string_view word);

struct ShellInput {
  std::map<std::string, std::string> variables;  // set before it begins; "1" is $1
  std::map<std::string, std::string> files;      // texts by name, for `source` and `bash`
  std::string printed_by_yq;  // what `yq` prints of a file's .MODEL_ARGS, unexpanded
};

struct ShellCommand {
  std::vector<std::string> words;  // after all expansion
  std::string job;                 // the text that it was found in, of a job that a script makes
};

struct ShellScript {
  std::vector<ShellCommand> commands;            // in order
  std::map<std::string, std::string> variables;  // at the end; arrays with blanks between
};

// Throws ConfigError (bad_file, at `where`) for a script that does not end.
[[nodiscard]] ShellScript follow_script(const std::string& text, const ShellInput&,
                                        const std::string& where);

}  // namespace pleat::interop
