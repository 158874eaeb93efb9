// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of flags of Megatron-LM that an import does not read: harmless, not priced, or
// refused, each with its reason (configs/unread_flags/megatron-lm.json).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {

enum class FlagEffect : unsigned char { harmless, unpriced, refused };

struct UnreadFlag {
  FlagEffect effect = FlagEffect::harmless;
  std::string why;
};

// By flag, "--log-interval".
using FlagEffects = std::map<std::string, UnreadFlag>;

// Throws ConfigError if the file is missing or wrong.
[[nodiscard]] FlagEffects load_flag_effects();

// What a reader of these arguments should know: a line for each flag that is given, was not asked
// for and is not harmless. A flag that is refused, and a value that cannot be had of a member that
// was asked for, is a problem at `where`. Of logs, which print every argument, switches count
// alone.
[[nodiscard]] std::vector<std::string> judge_unread(const ReadArguments&,
                                                    const std::set<std::string>& asked,
                                                    const FlagTable&, const FlagEffects&,
                                                    const std::string& where, Diagnostics&);
[[nodiscard]] std::vector<std::string> judge_unread_log(const Arguments&,
                                                        const std::set<std::string>& asked,
                                                        const FlagTable&, const FlagEffects&,
                                                        const std::string& where, Diagnostics&);

}  // namespace pleat::interop
