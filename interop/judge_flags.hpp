// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The flags of Megatron-LM that an import did not read, judged by their table (unread_table.hpp).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "interop/flag_table.hpp"
#include "interop/unread_table.hpp"

namespace pleat::interop {

// What a reader of these arguments should know: a line for each flag that is given, was not asked
// for and is not harmless. A flag that is refused, and a value that cannot be had of a member that
// was asked for, is a problem at `where`. Of logs, which print every argument, switches count
// alone.
[[nodiscard]] std::vector<std::string> judge_unread(const ReadArguments&,
                                                    const std::set<std::string>& asked,
                                                    const FlagTable&, const UnreadTable&,
                                                    const std::string& where, Diagnostics&);
[[nodiscard]] std::vector<std::string> judge_unread_log(const Arguments&,
                                                        const std::set<std::string>& asked,
                                                        const FlagTable&, const UnreadTable&,
                                                        const std::string& where, Diagnostics&);

}  // namespace pleat::interop
