// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels under the conformance suite without a GPU.
#include "tests/kernels/emulation/emulated_device.hpp"

namespace pleat::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Emulated, KernelConformance,
                         ::testing::Values(emulated("ascending", false)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
