// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Host memory behind a view, for as long as one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel_set.hpp"

namespace pleat {

class Scratch {
 public:
  Scratch(DType dtype, std::int64_t rows, std::int64_t cols)
      : bytes_(static_cast<std::size_t>(bytes_of(dtype, rows * cols))),
        view_{bytes_.data(), dtype, rows, cols} {}
  [[nodiscard]] View view() const { return view_; }

 private:
  std::vector<std::byte> bytes_;
  View view_;
};

}  // namespace pleat
