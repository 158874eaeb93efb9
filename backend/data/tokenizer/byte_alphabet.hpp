// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// GPT-2's alphabet: a printable character for each byte, so that any bytes make a readable token.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pleat {

// UTF-8 of the character that stands for each byte.
[[nodiscard]] const std::array<std::string, 256>& byte_alphabet();

// The bytes that a token spells; nothing if it has a character outside the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_alphabet(std::string_view spelling);

}  // namespace pleat
