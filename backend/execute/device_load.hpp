// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens of a step for each expert, counted on the device where the host need not know them before
// the step's end.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "backend/execute/device_scratch.hpp"
#include "backend/log/expert_load.hpp"

namespace pleat::execute {

class DeviceLoad {
 public:
  DeviceLoad(Device& device, DeviceScratch& scratch, std::int64_t layers, std::int64_t experts)
      : device_(device), scratch_(scratch), layers_(layers), experts_(experts) {}

  void clear();
  // [experts] of a layer, in fp32: whole numbers are exact up to 16 million.
  [[nodiscard]] View of(int layer);
  // Waits for the device.
  void add_to(ExpertLoad&);

 private:
  Device& device_;
  DeviceScratch& scratch_;
  std::int64_t layers_, experts_;
  std::optional<Scratch> counts_;  // [layers, experts], from the first step on that counts there
  std::set<int> counted_;          // layers
};

}  // namespace pleat::execute
