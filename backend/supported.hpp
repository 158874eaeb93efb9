// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What this backend can run so far.
#pragma once

#include "core/program/program.hpp"

namespace pleat {

// Throws ConfigError naming every field of the plan and the model that this backend cannot run yet,
// and what to use instead.
// `captures_graphs`: the ranks' devices can.
void require_supported(const Program&, bool captures_graphs = false);

}  // namespace pleat
