// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/side_by_side.hpp"

namespace pleat {

void side_by_side(Device& device, const std::function<void()>& first,
                  const std::function<void()>& other) {
  if (!device.has_streams()) {
    first();
    other();
    return;
  }
  const std::uint64_t begin = device.mark();
  first();
  device.take_stream(kOverlapStream);
  device.wait_for(0, begin);
  other();
  const std::uint64_t end = device.mark();
  device.take_stream(0);
  device.wait_for(kOverlapStream, end);
}

}  // namespace pleat
