// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs the built binary with an argument vector and collects what it said.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace pleat::cli_test {

struct Said {
  int exit_code = -1;  // -signal when it was killed by one
  std::string out, err;
};

[[nodiscard]] Said run_pleat(const std::vector<std::string>& arguments);

// The same of another program.
[[nodiscard]] Said run_program(const std::string& program,
                               const std::vector<std::string>& arguments);

// The same with these environment variables, "COLUMNS=80". Otherwise COLUMNS is not set.
[[nodiscard]] Said run_pleat_with(const std::vector<std::string>& variables,
                                  const std::vector<std::string>& arguments);

// The same with stdout connected to `file`, for full disks and closed pipes.
[[nodiscard]] Said run_pleat_into(const std::string& file,
                                  const std::vector<std::string>& arguments);
[[nodiscard]] Said run_pleat_into_closed_pipe(const std::vector<std::string>& arguments);

// Calls `act` with the process's id once stdout has `sign` in it.
[[nodiscard]] Said disturb_pleat(const std::vector<std::string>& arguments, const std::string& sign,
                                 const std::function<void(pid_t)>& act);
// Sends SIGINT once stdout has `sign` in it.
[[nodiscard]] Said interrupt_pleat(const std::vector<std::string>& arguments,
                                   const std::string& sign);

// A fresh folder of the running test, removed with the test's temporary files.
[[nodiscard]] std::string test_folder();
[[nodiscard]] std::string made_folder(const char* name);  // in it
void write_text(const std::string& path, const std::string& text);
[[nodiscard]] std::string read_text(const std::string& path);
[[nodiscard]] std::vector<std::string> files_in(const std::string& folder);  // sorted names

// Concatenates argument lists.
std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b);

}  // namespace pleat::cli_test
