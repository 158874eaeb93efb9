// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine as the driver names them, without CUDA.
#pragma once

#include <string>
#include <vector>

namespace pleat {

struct GpusHere {
  std::string driver;               // "570.86.15"; empty: none is loaded
  std::vector<std::string> models;  // "NVIDIA H100 80GB HBM3", one each
};
// `folder`: where the driver tells it.
[[nodiscard]] GpusHere gpus_here(const std::string& folder = "/proc/driver/nvidia");

// The shipped GPU that the driver calls so: "h100-sxm"; empty: none of them. Boards for PCIe and
// pairs of them (NVL) are other GPUs than those of the same name on SXM.
[[nodiscard]] std::string shipped_gpu(const std::string& model,
                                      const std::vector<std::string>& shipped);

}  // namespace pleat
