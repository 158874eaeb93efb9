// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Changes to the tree of a JSON document: values of other types and of extreme sizes, members that
// are missing, doubled, renamed or moved. The text stays JSON, so that the reader behind the parser
// is reached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

// The same seed makes the same change. Empty where the input is no such document.
[[nodiscard]] std::string mutate(std::string_view input, Form form, std::uint32_t seed);

}  // namespace pleat::fuzz
