// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the libraries of a GPU have. Hardware that could do a thing is not enough: TransformerEngine
// refuses MXFP8 on some Blackwell boards, and DeepEP needs NVLink.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pleat {

// Dispatchers and number formats that need libraries of their own.
enum class Software : std::uint8_t { deepep, hybridep, fp8, fp8_delayed, fp8_block, mxfp8, nvfp4 };
inline constexpr std::size_t kSoftwareCount = 7;
inline constexpr std::array<std::string_view, kSoftwareCount> kSoftwareNames{
    "deepep", "hybridep", "fp8", "fp8_delayed", "fp8_block", "mxfp8", "nvfp4"};

struct SoftwareFact {
  std::optional<bool> there;  // absent: nothing is said, hardware decides
  std::string source;
  bool operator==(const SoftwareFact&) const = default;
};

struct SoftwareFacts {
  std::array<SoftwareFact, kSoftwareCount> facts;
  bool operator==(const SoftwareFacts&) const = default;

  [[nodiscard]] const SoftwareFact& of(Software what) const {
    return facts[static_cast<std::size_t>(what)];
  }
};

}  // namespace pleat
