// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/exit_request.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::atomic<const char*> pending_file{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);
std::atomic<bool> caught{false};
std::atomic<int> pending{0};  // the first signal
static_assert(std::atomic<bool>::is_always_lock_free);

int code_of(int signal) {
  return static_cast<int>(signal == SIGTERM ? ExitCode::preempted : ExitCode::interrupted);
}

// Only async-signal-safe calls.
extern "C" void interrupted(int signal) {
  int none = 0;
  if (caught.load() && pending.compare_exchange_strong(none, signal)) return;
  if (const char* path = pending_file.load()) unlink(path);
  constexpr char message[] = "\ninterrupted\n";
  const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
  static_cast<void>(ignored);
  _exit(code_of(signal));
}

std::atomic<int> first_stop{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void stop_later(int signal) {
  int none = 0;
  if (!first_stop.compare_exchange_strong(none, signal)) interrupted(signal);
}

}  // namespace

void handle_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is an error of its write
  std::signal(SIGINT, interrupted);
}

void catch_interrupts() {
  caught.store(true);
  std::signal(SIGTERM, interrupted);
}

bool interrupt_pending() { return pending.load() != 0; }

bool sleep_unless_interrupted(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until && !interrupt_pending())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !interrupt_pending();
}

void catch_stop_signals() {
  std::signal(SIGTERM, stop_later);
  std::signal(SIGINT, stop_later);
}

int stop_signal() { return first_stop.load(); }

void leave_interrupted() { _exit(code_of(pending.load())); }

void remove_on_interrupt(const char* path) { pending_file.store(path); }

}  // namespace pleat
