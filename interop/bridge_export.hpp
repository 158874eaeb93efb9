// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge: dotted overrides of a ConfigContainer, from the flags of the Megatron-LM export.
#pragma once

#include "interop/exported.hpp"

namespace pleat::interop {

inline constexpr const char* kBridgeVersion = "067f987 (2026-08-22)";

// The model's sizes come from the recipe and are left out.
[[nodiscard]] Exported to_bridge(const ExportContext&, const Exported& megatron);

}  // namespace pleat::interop
