// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat import`: what each kind of file is read by.
#pragma once

#include "application/exchange/import.hpp"

namespace pleat::cli {

[[nodiscard]] const std::vector<std::string>& import_kinds();

// `pleat import`. ConfigError for what cannot be read or said.
void import_files(const ImportOptions&);

}  // namespace pleat::cli
