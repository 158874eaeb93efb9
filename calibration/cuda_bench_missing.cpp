// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_bench.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

std::unique_ptr<Bench> cuda_bench(int) {
  throw_config_error(ExitCode::device_or_io, "--device", "cuda", "this build has no CUDA kernels",
                     "install the CUDA toolkit and run ./pleat.sh build");
}

std::vector<std::pair<std::string, std::string>> cuda_software_facts() { return {}; }

}  // namespace pleat
