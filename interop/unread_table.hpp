// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a framework's flags or keys that an import does not read: harmless, not priced,
// or refused, each with its reason (configs/unread_flags, configs/unread_keys).
#pragma once

#include <map>
#include <string>

namespace pleat::interop {

enum class UnreadEffect : unsigned char { harmless, unpriced, refused };

struct Unread {
  UnreadEffect effect = UnreadEffect::harmless;
  std::string why;
  std::string usual;  // the value with which it says nothing; empty: what is off
};

// By flag, "--log-interval", or by path, "training.max_norm"; "metrics.*" is all below.
using UnreadTable = std::map<std::string, Unread>;

// `name` is the file's in configs, without ".json". ConfigError if it is missing or wrong.
[[nodiscard]] UnreadTable load_unread(const std::string& name);

inline constexpr const char* kUnreadMegatronFlags = "unread_flags/megatron-lm";

}  // namespace pleat::interop
