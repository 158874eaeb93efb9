// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/gpu_clocks.hpp"

#include <dlfcn.h>

namespace pleat {

// The library comes with the driver and its header need not be here: the few calls are declared by
// hand (NVML API, version 2 names; every result 0 is success).
std::vector<std::pair<std::string, std::string>> gpu_clocks(const char* pci_bus) {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  using Device = void*;
  const auto symbol = [&]<class F>(F*& f, const char* name) {
    f = reinterpret_cast<F*>(::dlsym(library, name));
    return f != nullptr;
  };
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  std::vector<std::pair<std::string, std::string>> facts;
  Device device = nullptr;
  if (!symbol(init, "nvmlInit_v2") || !symbol(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !symbol(clock, "nvmlDeviceGetClockInfo") ||
      !symbol(temperature, "nvmlDeviceGetTemperature") ||
      !symbol(power, "nvmlDeviceGetPowerUsage") || init() != 0 || by_bus(pci_bus, &device) != 0) {
    return facts;
  }
  unsigned value = 0;
  if (clock(device, 1, &value) == 0) facts.emplace_back("sm_clock_mhz", std::to_string(value));
  if (clock(device, 2, &value) == 0) facts.emplace_back("memory_clock_mhz", std::to_string(value));
  if (temperature(device, 0, &value) == 0)
    facts.emplace_back("temperature_c", std::to_string(value));
  if (power(device, &value) == 0) facts.emplace_back("power_mw", std::to_string(value));
  return facts;
}

}  // namespace pleat
