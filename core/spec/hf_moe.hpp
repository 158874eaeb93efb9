// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The Mixture-of-Experts part of a Hugging Face config: experts, router, and which layers have
// them.
#pragma once

#include <vector>

#include "core/spec/hf_family.hpp"
#include "core/spec/hf_fields.hpp"

namespace pleat {

// Limits of what is read (docs/FORMATS.md).
inline constexpr IntRange kLayerRange{1, 10'000};
inline constexpr IntRange kExpertRange{1, 65'536};
inline constexpr IntRange kHiddenRange{1, 1 << 20};
inline constexpr IntRange kWidthRange{1, 1 << 24};

[[nodiscard]] MoeSpec read_hf_moe(HfFields&, const HfFamily&);

// Which of the layers are MoE, by whichever of the families' fields the file has.
[[nodiscard]] std::vector<bool> read_hf_moe_layers(HfFields&, std::int64_t layers);

}  // namespace pleat
