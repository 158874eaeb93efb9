// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The same in bf16, with the threads in the other order, and with attention by a library.
#include "tests/kernels/conformance/bf16.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"

namespace pleat::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Emulated, KernelConformance,
                         ::testing::Values(emulated("descending", true), emulated_library()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Emulated, Bf16Conformance,
                         ::testing::Values(emulated("ascending", false),
                                           emulated("descending", true), emulated_library()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
