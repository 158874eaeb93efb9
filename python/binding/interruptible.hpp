// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Long work for Python: without the interpreter's lock, and so that Ctrl-C ends it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>

#include "application/work_hooks.hpp"

namespace pleat::python {

// Calls work(hooks) in a thread of its own and waits for it. A signal handler of Python that raises
// (KeyboardInterrupt) makes the hooks say "end": when the work has ended its answer is dropped and
// the exception goes on.
template <class Work>
[[nodiscard]] auto interruptible(const Work& work) {
  constexpr std::chrono::milliseconds kBetweenLooks{20};
  std::atomic<bool> stop = false;
  auto answer = std::async(std::launch::async, [&] {
    return work(WorkHooks{[&] { return !stop.load(); }, {}});
  });
  for (;;) {
    std::future_status status{};
    {
      const nanobind::gil_scoped_release without_lock;
      status = answer.wait_for(kBetweenLooks);
    }
    if (status == std::future_status::ready) return answer.get();
    if (PyErr_CheckSignals() == 0) continue;
    const nanobind::python_error raised;  // keeps what the handler raised
    stop = true;
    {
      const nanobind::gil_scoped_release without_lock;
      answer.wait();
    }
    throw nanobind::python_error(raised);
  }
}

}  // namespace pleat::python
