// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A GPU as the device of a rank. Several ranks of a process may share a GPU, each with streams and
// scratch memory of its own, or have one each.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/device.hpp"

namespace pleat {

// Throws DeviceError where there is no such GPU, or where GPUs that this process uses cannot read
// each other's memory.
[[nodiscard]] std::unique_ptr<Device> gpu_device(int index = 0, const CudaOptions& = {});

}  // namespace pleat
