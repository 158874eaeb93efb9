// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A call to the device failed (CUDA now; cuBLAS and NCCL join it). Not the user's fault and not a
// broken invariant of ours: the program ends with ExitCode::device_or_io.
#pragma once

#include <stdexcept>
#include <string>

namespace pleat {

class DeviceError : public std::runtime_error {
 public:
  // call: "cudaMalloc(&data, bytes)"; reason: the library's own words.
  DeviceError(const std::string& call, const std::string& reason, const char* file, int line)
      : std::runtime_error(call + ": " + reason + " (" + file + ":" + std::to_string(line) + ")") {}
};

}  // namespace pleat
