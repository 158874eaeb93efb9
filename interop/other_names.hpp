// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Arguments by the names that earlier versions of Megatron-LM and its forks have for them.
#pragma once

#include "interop/flag_table.hpp"
#include "interop/megatron_import.hpp"

namespace pleat::interop {

// The same in today's names, where they are not given by them as well; `out` has asked for all of
// these names, and says what was assumed.
[[nodiscard]] Arguments in_todays_names(Arguments, ImportedRun& out);

}  // namespace pleat::interop
