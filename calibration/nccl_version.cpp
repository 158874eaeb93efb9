// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/nccl_version.hpp"

#include <stdexcept>

#include "backend/comm/nccl_library.hpp"

namespace pleat {

std::string nccl_version(const std::string& file) {
  try {
    int version = 0;
    if (load_nccl(file)->get_version(&version) == kNcclSuccess) return std::to_string(version);
  } catch (const std::runtime_error&) {  // not there, or not NCCL
  }
  return "none";
}

}  // namespace pleat
