// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The host as a device: nothing is hidden, nothing has to be copied.
#pragma once

#include <memory>

#include "kernels/device.hpp"

namespace pleat {

// The host's memory as operator new gives it.
[[nodiscard]] Memory& plain_memory();

// With the CPU's kernels.
[[nodiscard]] std::unique_ptr<Device> host_device();

}  // namespace pleat
