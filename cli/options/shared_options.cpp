// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/shared_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>

#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

struct TokenCount {
  std::int64_t value = 0;
  bool suffix = false;
};

// A whole number with k or M, or without.
std::optional<TokenCount> read_count(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 1) return std::nullopt;
  std::int64_t unit = 1;
  if (rest + 1 == end && (*rest == 'k' || *rest == 'K')) unit = 1024;
  else if (rest + 1 == end && *rest == 'M') unit = 1024 * 1024;
  else if (rest != end) return std::nullopt;
  if (value > kMost / unit) return std::nullopt;
  return TokenCount{value * unit, unit > 1};
}

TokenCount count_or_throw(const std::string& name, const std::string& text, const char* example) {
  if (const auto count = read_count(text)) return *count;
  throw CLI::ValidationError(
      name, fmt::format("{} is not a whole number from 1 to {}, for example {}", text, kMost,
                        example));
}

}  // namespace

CLI::Option* add_seq_len(CLI::App& app, std::optional<std::int64_t>& seq_len,
                         const std::string& description) {
  const auto read = [&seq_len](const std::string& text) {
    seq_len = count_or_throw("--seq-len", text, "4096 or 4k").value;
  };
  return app.add_option_function<std::string>("-s,--seq-len", read,
                                              description + "; 4k is 4096");
}

CLI::Option* add_global_batch(CLI::App& app, GlobalBatch& batch, const std::string& description) {
  const auto read = [&batch](const std::string& text) {
    const TokenCount count = count_or_throw("--global-batch", text, "1024, or 4M tokens");
    batch = count.suffix ? GlobalBatch{{}, count.value} : GlobalBatch{count.value, {}};
  };
  return app.add_option_function<std::string>(
      "-b,--global-batch", read, description + "; with k or M tokens, 4M with 4k are 1024");
}

void add_routing_options(CLI::App& app, RoutingOptions& o, const char* group) {
  app.add_option(
         "--routing", o.routing,
         "How tokens spread over experts: balanced; natural, as the model's router is trained, or "
         "aux-loss, aux-loss-free, untrained; or a file of loads by layer and expert, for "
         "example a log of `pleat train --log-json` (default: balanced)")
      ->check(offers({"balanced", "natural", "aux-loss", "aux-loss-free", "untrained"}))
      ->group(group);
  app.add_option(
         "--imbalance", o.imbalance,
         "Tokens of the busiest rank of an expert-parallel group over the mean, for example 1.3")
      ->check(in_range(1.0, 1e6))
      ->group(group);
}

void add_output_options(CLI::App& command, OutputOptions& o, const std::string& what) {
  command.add_option("-o,--out", o.file, "Write " + what + " to this file (default: stdout)");
  command.add_flag("--force", o.force, "Replace a file that is there");
  command.add_flag("--dry-run", o.dry_run, "Write nothing, say what would be written");
}

}  // namespace pleat::cli
