// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Work on two streams of a device at once.
#pragma once

#include <functional>

#include "kernels/device.hpp"

namespace pleat {

// `other` on kOverlapStream, from where stream 0 is now; `first` is stream 0's work beside it. What
// stream 0 is given next comes after both. A device without streams does one after the other.
inline constexpr int kOverlapStream = 1;
void side_by_side(Device&, const std::function<void()>& first, const std::function<void()>& other);

}  // namespace pleat
