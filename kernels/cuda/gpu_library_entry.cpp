// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The functions by which kernels/gpu_library.cpp enters this library.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/gpu_device.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/gpu_library.hpp"

extern "C" {

const char* pleat_gpu_interface() { return PLEAT_GPU_INTERFACE; }

const pleat::GpuLibrary* pleat_gpu_library() {
  static const pleat::GpuLibrary library{.device_count = pleat::cuda::device_count,
                                         .device = pleat::gpu_device,
                                         .library_line = pleat::cuda::library_line};
  return &library;
}

}  // extern "C"
