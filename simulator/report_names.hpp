// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words for the enumerations that reports print.
#pragma once

#include "core/spec/profile.hpp"

namespace pleat {

[[nodiscard]] constexpr const char* source_name(SourceClass source) {
  switch (source) {
    case SourceClass::measured: return "measured";
    case SourceClass::interpolated: return "interpolated";
    case SourceClass::fitted: return "fitted";
    case SourceClass::datasheet: return "datasheet";
  }
  return "?";
}

[[nodiscard]] constexpr const char* runtime_name(Runtime runtime) {
  switch (runtime) {
    case Runtime::pleat: return "pleat";
    case Runtime::megatron: return "megatron";
  }
  return "?";
}

}  // namespace pleat
