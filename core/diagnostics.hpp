// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// User errors as values: what is wrong, where (file and field path), what would be valid.
// A parser collects every problem, then throws them together as one ConfigError.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace pleat {

// Process exit codes; the table of docs/ARCHITECTURE.md.
enum class ExitCode : int {
  done = 0,
  bad_request = 2,       // a flag, or a plan, layout or workload value that breaks a named rule
  bad_file = 3,          // syntax, schema, type, range, limits
  nothing_fits = 4,      // valid request, no feasible plan
  device_or_io = 5,
  verification = 6,      // verification failed, plan/profile mismatch
  refused = 7,
  corruption = 16,       // the same work gave different bits, or replicas differ: a faulty device
  diverged = 17,         // loss or gradients stay non-finite on the same data
  preempted = 75,        // SIGTERM: the state is saved, start again to go on
  interrupted = 130,
};

enum class Severity { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  ExitCode code = ExitCode::bad_file;
  std::string where;    // "plan.json:12:7" or "--tp"; may be empty
  std::string path;     // field path, "moe.top_k"; may be empty
  std::string message;  // one line: what is wrong
  std::string hint;     // one line: what would be valid; may be empty
  bool operator==(const Diagnostic&) const = default;
};

// "error: plan.json:12:7: moe.top_k: must be <= num_experts (8 > 4)\n  hint: …"
[[nodiscard]] std::string to_text(const Diagnostic&);

// Collects problems; `throw_if_errors` raises ConfigError with all of them.
class Diagnostics {
 public:
  void add(Diagnostic d) { list_.push_back(std::move(d)); }
  void error(ExitCode code, std::string where, std::string path, std::string message,
             std::string hint = {});
  void warning(std::string where, std::string path, std::string message, std::string hint = {});
  [[nodiscard]] bool has_errors() const;
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  void throw_if_errors() const;

 private:
  std::vector<Diagnostic> list_;
};

// The user's fault. what() is every diagnostic's text, one after the other.
class ConfigError : public std::exception {
 public:
  explicit ConfigError(std::vector<Diagnostic> list);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return list_; }
  [[nodiscard]] ExitCode exit_code() const;  // of the first error

 private:
  std::vector<Diagnostic> list_;
  std::string text_;
};

// The text of an exception on one line, without "error: ".
[[nodiscard]] std::string one_line(const std::exception&);

// Shorthand for a single problem.
[[noreturn]] void throw_config_error(ExitCode code, std::string where, std::string path,
                                     std::string message, std::string hint = {});

// "did you mean …": the candidate with the smallest edit distance, if it is close; else empty.
[[nodiscard]] std::string nearest_name(const std::string& word,
                                       const std::vector<std::string>& candidates);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace pleat

// A broken invariant is our bug: abort with file and line, in every build.
#define PLEAT_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::pleat::assertion_failed(#expression, __FILE__, __LINE__))
