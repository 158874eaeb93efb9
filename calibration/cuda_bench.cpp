// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_bench.hpp"

#include "kernels/gpu_library.hpp"

namespace pleat {
namespace {

const CudaBenchLibrary& bench_library() {
  static const auto functions =
      reinterpret_cast<const CudaBenchLibrary* (*)()>(gpu_library_symbol("pleat_cuda_bench"));
  return *functions();
}

}  // namespace

std::unique_ptr<Bench> cuda_bench(int device) { return bench_library().bench(device); }

std::vector<std::pair<std::string, std::string>> cuda_software_facts() {
  return bench_library().software_facts();
}

}  // namespace pleat
