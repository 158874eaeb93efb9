// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words that an option takes, kept by the option itself (in the name of a validator, which the
// help does not show), so that completion offers what the command takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/spec/catalog.hpp"

namespace pleat::cli {

// Refuses all other words.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>&);
// Lets all words through: what reads the value judges it.
[[nodiscard]] CLI::Validator offers(const std::vector<std::string>&);
// The same, of shipped configurations; looked up when they are asked for.
[[nodiscard]] CLI::Validator offers_configs(ConfigKind);

// Of the validators above and of CLI::IsMember; empty: any value.
[[nodiscard]] std::vector<std::string> choices_of(CLI::Option&);
// A name of shipped configurations, or a file of one's own.
[[nodiscard]] bool takes_configs(CLI::Option&);

}  // namespace pleat::cli
