// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Versions of libraries that are loaded when they are first needed, so that no header of theirs is.
#pragma once

#include <string>

namespace pleat {

// "91901"; "none" where there is no such library.
[[nodiscard]] std::string cudnn_version(const std::string& file = "libcudnn.so.9");
[[nodiscard]] std::string nccl_version(const std::string& file = "libnccl.so.2");

}  // namespace pleat
