// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reading a GPU's datasheet facts: a file of configs/gpus, or the same object inside a cluster.
#pragma once

#include <string>

#include "core/json/object_reader.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

[[nodiscard]] GpuSpec read_gpu(const std::string& text, const std::string& file_name);
[[nodiscard]] GpuSpec read_gpu_object(ObjectReader& reader);

}  // namespace pleat
