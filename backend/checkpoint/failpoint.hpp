// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Named places where a test ends the process or lets an operation fail. PLEAT_FAILPOINT in the
// environment arms one, "ckpt.after_shard:rank=1:step=4" (any rank, any step where they are left
// out); ":error" at the end throws there instead of killing. Nothing happens without it.
#pragma once

#include <string_view>

namespace pleat {

// SIGKILL to this process, or a ConfigError (device_or_io).
void failpoint(std::string_view name, int rank, int step);
// Whether one whose name begins like this is armed.
[[nodiscard]] bool failpoint_armed(std::string_view prefix);

}  // namespace pleat
