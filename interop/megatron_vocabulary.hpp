// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many tokens a tokenizer has that Megatron-LM's arguments name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "interop/flag_table.hpp"

namespace pleat::interop {

struct KnownVocabulary {
  std::int64_t tokens = 0;
  std::string from;  // "tokenizer_model Qwen/Qwen3-30B-A3B"
};

// Nothing for tokenizers that are not known.
[[nodiscard]] std::optional<KnownVocabulary> tokenizer_vocabulary(const ArgumentReader&);

}  // namespace pleat::interop
