// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The rules of docs/ARCHITECTURE.md and CONTRIBUTING.md that a machine can hold. Each check takes
// the root of a source tree and returns what breaks its rule there.
#pragma once

#include <filesystem>

#include "tests/architecture/source_tree.hpp"

namespace pleat::architecture {

inline constexpr int kMaxLines = 500;
inline constexpr int kMaxColumns = 100;

// Includes of our own headers are quoted, written from the root, exist, and point down the layers.
[[nodiscard]] Findings check_layers(const std::filesystem::path& root);

// Third parties stay behind an implementation file: none of them in a header.
[[nodiscard]] Findings check_third_parties(const std::filesystem::path& root);

// No source has more than kMaxLines lines.
[[nodiscard]] Findings check_file_size(const std::filesystem::path& root);

// No line of C++ or CUDA has more than kMaxColumns characters.
[[nodiscard]] Findings check_line_length(const std::filesystem::path& root);

// Sources and scripts begin with the two SPDX lines (scripts may have a #! line before).
[[nodiscard]] Findings check_spdx(const std::filesystem::path& root);

// No path of somebody's machine in any text.
[[nodiscard]] Findings check_machine_paths(const std::filesystem::path& root);

// Environment variables are read in core/environment.cpp and nowhere else.
[[nodiscard]] Findings check_environment(const std::filesystem::path& root);

// Outside of tests nothing follows JsonValue::as_…() unseen: where the value has another type, that
// is a null pointer.
[[nodiscard]] Findings check_json_access(const std::filesystem::path& root);

// Outside of tests no two files define types of the same name in the same namespace.
[[nodiscard]] Findings check_one_definition(const std::filesystem::path& root);

// docs/KNOWN_BUGS.md has rows 1 to `bugs` in order, each with tests that exist.
[[nodiscard]] Findings check_bug_table(const std::filesystem::path& root, int bugs);

}  // namespace pleat::architecture
