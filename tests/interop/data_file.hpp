// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A file of tests/interop/data.
#pragma once

#include <string>

#include "core/json/text_file.hpp"

namespace pleat::test {

inline std::string data_file(const std::string& name) {
  return read_text_file(std::string(PLEAT_SOURCE_DIR) + "/tests/interop/data/" + name);
}

}  // namespace pleat::test
