// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The host's way to values on a device: f(view) sees the values themselves where the host may, and
// a copy where it may not. Each hidden view is one copy that waits for the device.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/runtime/views.hpp"
#include "kernels/device.hpp"

namespace pleat {

[[nodiscard]] inline std::int64_t byte_count(View v) { return bytes_of(v.dtype, v.elements()); }

[[nodiscard]] inline View on_host(View v, std::vector<std::byte>& room) {
  room.resize(static_cast<std::size_t>(byte_count(v)));
  v.data = room.data();
  return v;
}

template <class F>
decltype(auto) read_on_host(Device& device, View v, F f) {
  if (!device.hidden(v.data)) return f(v);
  std::vector<std::byte> room;
  const View copy = on_host(v, room);
  device.copy(copy.data, v.data, byte_count(v));
  return f(copy);
}

// f writes all of it.
template <class F>
void write_on_host(Device& device, View v, F f) {
  if (!device.hidden(v.data)) return f(v);
  std::vector<std::byte> room;
  const View copy = on_host(v, room);
  f(copy);
  device.copy(v.data, copy.data, byte_count(v));
}

// Those of views.hpp, wherever the view is.
[[nodiscard]] inline std::vector<float> values_of(Device& device, View v) {
  return read_on_host(device, v, [](View here) { return values_of(here); });
}
inline void set_values(Device& device, View v, std::span<const float> values) {
  write_on_host(device, v, [&](View here) { set_values(here, values); });
}
inline void change_values(Device& device, View v,
                          const std::function<void(std::span<float>)>& change) {
  if (!device.hidden(v.data)) return change_values(v, change);
  std::vector<float> values = values_of(device, v);
  change(values);
  set_values(device, v, values);
}

}  // namespace pleat
