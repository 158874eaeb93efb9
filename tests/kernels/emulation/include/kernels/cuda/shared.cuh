// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/emulation/block.hpp"

namespace pleat::cuda {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulation::dynamic_shared());
}

}  // namespace pleat::cuda
