// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/device_load.hpp"

#include <cmath>
#include <vector>

#include "backend/runtime/host_access.hpp"

namespace pleat::execute {

void DeviceLoad::clear() {
  if (counts_) device_.kernels().zero(counts_->view());
}

View DeviceLoad::of(int layer) {
  if (!counts_) {
    counts_ = scratch_.take(DType::fp32, layers_, experts_);
    clear();
  }
  counted_.insert(layer);
  return elements_of(counts_->view(), layer * experts_, experts_);
}

void DeviceLoad::add_to(ExpertLoad& load) {
  if (!counts_) return;
  const std::vector<float> all = values_of(device_, counts_->view());
  std::vector<std::int32_t> of_layer(static_cast<std::size_t>(experts_));
  for (const int layer : counted_) {
    for (std::size_t e = 0; e < of_layer.size(); ++e) {
      const auto at = static_cast<std::size_t>(layer) * of_layer.size() + e;
      of_layer[e] = static_cast<std::int32_t>(std::lround(all[at]));
    }
    load.add(layer, of_layer);
  }
}

}  // namespace pleat::execute
