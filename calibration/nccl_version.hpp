// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's version, of the library that collectives are loaded from. Of the kernels' libraries
// kernels/cuda/implementation.hpp says it.
#pragma once

#include <string>

namespace pleat {

// "22809"; "none" where there is no such library.
[[nodiscard]] std::string nccl_version(const std::string& file = "libnccl.so.2");

}  // namespace pleat
