// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A model of which only the size is known: "400B-A20B" (parameters, of which a token uses so many)
// or "70B". Planning needs layers, widths and experts, so they are chosen as published models of
// that size have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pleat {

struct TypicalModel {
  std::string config;   // a Hugging Face config.json: qwen3_moe, or llama for a dense one
  std::string summary;  // "62 layers of 5120, 192 experts of 1536, 8 a token"
};

// Nothing if `name` is no such size (1B to 100T, active parameters below all). The configuration's
// parameters are within 2% of both numbers, else it is nothing, too.
[[nodiscard]] std::optional<TypicalModel> typical_model(std::string_view name);

}  // namespace pleat
