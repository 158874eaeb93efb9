// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels are a shared library of their own, libpleat_cuda.so, which is opened when
// somebody asks for a GPU. So the program builds in minutes, starts without CUDA, and needs no
// nvcc.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/cuda_options.hpp"
#include "kernels/device.hpp"

namespace pleat {

// What the library does for its caller.
struct GpuLibrary {
  int (*device_count)();                                             // as cuda::device_count
  std::unique_ptr<Device> (*device)(int index, const CudaOptions&);  // as gpu_device
  std::string (*library_line)();                                     // as cuda::library_line
};

// Opens the library when it is first called. Throws ConfigError: bad_request where it is not built,
// device_or_io where it cannot be opened or was built from other sources than this program.
[[nodiscard]] const GpuLibrary& gpu_library();

// A function of the library that other layers look up by its name. Throws as gpu_library does.
[[nodiscard]] void* gpu_library_symbol(const char* name);

}  // namespace pleat
