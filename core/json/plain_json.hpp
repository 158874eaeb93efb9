// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The quick way through JSON text that has nothing strange: one look at each byte, no room for
// tokens. What it does not understand is left to nlohmann's parser, which says what is wrong.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/json/tree_builder.hpp"

namespace pleat {

enum class PlainJson : std::uint8_t {
  read,     // to the end
  stopped,  // by the builder, which has said why
  strange,  // no JSON; or what is rare: numbers too large, a byte order mark, surrogates
};

[[nodiscard]] PlainJson read_plain_json(std::string_view text, TreeBuilder& builder);

}  // namespace pleat
