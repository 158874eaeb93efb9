// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/library_versions.hpp"

#include <dlfcn.h>

#include <cstddef>

namespace pleat {
namespace {

constexpr const char* kNone = "none";

// The library stays loaded: kernels may hold on to it.
template <class F>
F* function(const std::string& file, const char* name) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(library, name));
}

}  // namespace

std::string cudnn_version(const std::string& file) {
  auto* const version = function<std::size_t()>(file, "cudnnGetVersion");
  return version == nullptr ? kNone : std::to_string(version());
}

std::string nccl_version(const std::string& file) {
  auto* const get = function<int(int*)>(file, "ncclGetVersion");
  int version = 0;
  return get == nullptr || get(&version) != 0 ? kNone : std::to_string(version);
}

}  // namespace pleat
