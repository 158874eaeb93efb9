// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pleat {

// Clocks in MHz, temperature and power of the GPU on that bus, as NVIDIA's management library says;
// empty where it is not there.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> gpu_clocks(const char* pci_bus);

}  // namespace pleat
