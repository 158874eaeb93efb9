// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a command ends before it is done: by an exception of its own, or by Ctrl-C and SIGTERM.
#pragma once

#include <stdexcept>
#include <string>

namespace pleat {

// A command that ends in good order before it is done, or with another program's exit code.
class ExitRequest : public std::runtime_error {
 public:
  ExitRequest(int exit_code, const std::string& message)  // empty: nothing is said
      : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Ctrl-C ends with 130 and leaves no half-written file; a closed pipe is an error value, not a
// signal.
void handle_signals();

// The file that an interruption must remove; the string must outlive the registration.
// nullptr: none.
void remove_on_interrupt(const char* path);

// From now on the first Ctrl-C or SIGTERM only makes interrupt_pending() true, so that what is done
// can be printed; the second one ends at once.
void catch_interrupts();
[[nodiscard]] bool interrupt_pending();
// Sleeps so long, less if an interruption comes; false: one came.
[[nodiscard]] bool sleep_unless_interrupted(double seconds);

// From now on the first SIGTERM or Ctrl-C only makes stop_signal() return it, so that the work can
// end in good order; the next one ends at once.
void catch_stop_signals();
[[nodiscard]] int stop_signal();  // 0: none came

// Ends with 130, after SIGTERM with 75, without waiting for threads that still work. Output must be
// flushed.
[[noreturn]] void leave_interrupted();

}  // namespace pleat
