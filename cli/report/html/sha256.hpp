// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and base64 (RFC 4648): a page's policy names its scripts by their digests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pleat::cli {

[[nodiscard]] std::array<std::uint8_t, 32> sha256(std::string_view);
[[nodiscard]] std::string base64(std::string_view);
// "sha256-47DEQpj8…=", as Content-Security-Policy writes it.
[[nodiscard]] std::string csp_hash(std::string_view);

}  // namespace pleat::cli
