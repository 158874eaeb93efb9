// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of a test program through its own operator new.
#pragma once

#include <cstddef>

namespace pleat {

[[nodiscard]] std::size_t allocation_count();

}  // namespace pleat
