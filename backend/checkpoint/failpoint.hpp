// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Named places in the code where a test can kill the process or let an operation fail. The
// environment variable PLEAT_FAILPOINT arms one of them: "ckpt.after_shard:rank=1:step=4". Without
// rank or step it holds for all of them. With ":error" at the end an exception is thrown instead of
// killing. Without the variable nothing happens.
#pragma once

#include <string_view>

namespace pleat {

// If the place is armed: sends SIGKILL to this process, or throws ConfigError (device_or_io).
void failpoint(std::string_view name, int rank, int step);
// Whether a place is armed whose name begins with `prefix`.
[[nodiscard]] bool failpoint_armed(std::string_view prefix);

}  // namespace pleat
