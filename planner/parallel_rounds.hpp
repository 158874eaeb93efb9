// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One round of independent work on several threads. Results go to slots chosen by index, so they do
// not depend on the number of threads or on who took what.
#pragma once

#include <cstddef>
#include <functional>

namespace pleat {

// Calls work(i) once for each i in [0, count) and returns when all are done.
void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work);

[[nodiscard]] int thread_count(int requested);  // 0: all cores

}  // namespace pleat
