// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "application/request/global_batch.hpp"
#include "application/request/routing_words.hpp"
#include "console/write_file.hpp"

namespace pleat::cli {

// Lengths and batches as people write them: --seq-len 4k is 4,096 tokens, --global-batch 1024 so
// many sequences and 4M as many as 4 x 1,024 x 1,024 tokens make. k and M are powers of 1,024
// here, because lengths are.
CLI::Option* add_seq_len(CLI::App&, std::optional<std::int64_t>&, const std::string& description);
CLI::Option* add_global_batch(CLI::App&, GlobalBatch&, const std::string& description);

// --routing and --imbalance.
void add_routing_options(CLI::App&, RoutingOptions&, const char* group);

// Where a command's text goes. `what` is written: "the plan".
void add_output_options(CLI::App&, OutputOptions&, const std::string& what);

}  // namespace pleat::cli
