// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reading the facts of hardware with their sources: single fields, and a whole GPU.
#pragma once

#include <string>

#include "core/json/object_reader.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

// Reading a GPU's datasheet facts: a file of configs/gpus, or the same object inside a cluster.

[[nodiscard]] GpuSpec read_gpu(const std::string& text, const std::string& file_name);
[[nodiscard]] GpuSpec read_gpu_object(ObjectReader& reader);
// The optional field "software" of a GPU or a cluster.
[[nodiscard]] SoftwareFacts read_software(ObjectReader& parent);

// A hardware fact is written {"value": "3.35 TB/s", "source": "vendor datasheet"}; a bare value is
// accepted too. Shipped files always name the source.

// Calls read(reader, key) on the field itself or on its "value".
template <class Read>
auto read_sourced(ObjectReader& parent, const std::string& key, Read read) {
  const JsonValue* found = parent.find(key);
  if (found == nullptr || !found->is_object()) return read(parent, key);
  ObjectReader field = parent.object(key);
  auto value = read(field, std::string("value"));
  field.text("source");
  field.finish();
  return value;
}

template <class Q>
Q sourced_quantity(ObjectReader& parent, const std::string& key) {
  return read_sourced(parent, key, [](ObjectReader& reader, const std::string& name) {
    return reader.quantity<Q>(name);
  });
}

inline std::int64_t sourced_integer(ObjectReader& parent, const std::string& key, IntRange range) {
  return read_sourced(parent, key, [range](ObjectReader& reader, const std::string& name) {
    return reader.integer(name, range);
  });
}

}  // namespace pleat
