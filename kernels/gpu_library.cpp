// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

[[noreturn]] void refuse(ExitCode code, const std::string& what) {
  throw_config_error(code, "--device", "", what,
                     "./pleat.sh setup --cuda builds them, which needs nvcc and takes minutes; "
                     "--device cpu uses the CPU");
}

void* open_library() {
  const std::string path = gpu_library_path();
  if (!std::filesystem::exists(path)) {
    refuse(ExitCode::bad_request,
           fmt::format("the CUDA kernels are not built: there is no {}", path));
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(ExitCode::device_or_io, fmt::format("the CUDA kernels cannot be opened: {}", dlerror()));
  }
  const auto interface = reinterpret_cast<const char* (*)()>(dlsym(library, "pleat_gpu_interface"));
  if (interface == nullptr || interface() != std::string(PLEAT_GPU_INTERFACE)) {
    refuse(ExitCode::device_or_io,
           fmt::format("the CUDA kernels of {} were built from other sources than this program",
                       path));
  }
  return library;
}

}  // namespace

void* gpu_library_symbol(const char* name) {
  static void* const library = open_library();
  void* const found = dlsym(library, name);
  if (found == nullptr)
    refuse(ExitCode::device_or_io, fmt::format("the library of CUDA kernels has no {}", name));
  return found;
}

const GpuLibrary& gpu_library() {
  static const auto functions =
      reinterpret_cast<const GpuLibrary* (*)()>(gpu_library_symbol("pleat_gpu_library"));
  return *functions();
}

}  // namespace pleat
