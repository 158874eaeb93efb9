// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a calibration of a GPU notes of the software it ran on: beside CUDA's versions what the
// kernels themselves say of their libraries. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/cuda_bench.hpp"
#include "kernels/cuda/implementation.hpp"

namespace pleat {
namespace {

TEST(CudaFacts, LibrariesAsTheKernelsSayThem) {
  const auto facts = cuda_software_facts();
  const auto values = [&](const std::string& name) {
    std::vector<std::string> found;
    for (const auto& [key, value] : facts) {
      if (key == name) found.push_back(value);
    }
    return found;
  };
  const auto libraries = cuda::library_facts();
  ASSERT_EQ(libraries.size(), 4U);
  for (const auto& [name, value] : libraries) {
    EXPECT_EQ(values(name), std::vector<std::string>{value}) << name;
    EXPECT_FALSE(value.empty()) << name;
  }
  EXPECT_EQ(values("cuda_driver").size(), 1U);
  ASSERT_EQ(values("cuda_runtime").size(), 1U);
  EXPECT_GT(std::stoi(values("cuda_runtime").front()), 12000);
}

}  // namespace
}  // namespace pleat
