// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is known about a model: parameters by part, FLOPs of a token, and how its file was read.
#pragma once

#include <cstdint>
#include <string>

#include "core/spec/model.hpp"

namespace pleat::cli {

[[nodiscard]] std::string model_text(const HfImport&, std::int64_t seq_len);
[[nodiscard]] std::string model_json(const HfImport&, std::int64_t seq_len);

}  // namespace pleat::cli
