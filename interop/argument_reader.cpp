// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/argument_reader.hpp"

#include <charconv>

namespace pleat::interop {
namespace {

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

constexpr std::int64_t kLargest = std::int64_t{1} << 28;

}  // namespace

std::optional<std::string> ArgumentReader::text(const std::string& member) const {
  const auto found = values_.find(member);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  const std::string& value = found->second.front();
  if (value.empty() || value == "None") return std::nullopt;
  return value;
}

std::vector<std::string> ArgumentReader::list(const std::string& member) const {
  const auto found = values_.find(member);
  if (found == values_.end() || !text(member)) return {};
  return found->second;
}

std::optional<std::int64_t> ArgumentReader::integer(const std::string& member) const {
  const std::optional<std::string> word = text(member);
  if (!word) return std::nullopt;
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(*word);
  if (value && *value >= 0 && *value <= kLargest) return value;
  problem(member, "'" + *word + "' is not a whole number from 0 to " + std::to_string(kLargest));
  return std::nullopt;
}

std::optional<double> ArgumentReader::number(const std::string& member) const {
  const std::optional<std::string> word = text(member);
  if (!word) return std::nullopt;
  const std::optional<double> value = parse_number<double>(*word);
  if (value && *value > -1e15 && *value < 1e15) return value;
  problem(member, "'" + *word + "' is not a number");
  return std::nullopt;
}

bool ArgumentReader::is_on(const std::string& member) const { return text(member) == "True"; }
bool ArgumentReader::is_off(const std::string& member) const { return text(member) == "False"; }

std::int64_t ArgumentReader::required(const std::string& member) const {
  if (!text(member)) problem(member, "is not given", "it decides the size of the model or the run");
  const std::int64_t value = integer(member).value_or(1);
  if (value < 1) problem(member, "must be at least 1");
  return value < 1 ? 1 : value;
}

void ArgumentReader::problem(const std::string& member, std::string message,
                             std::string hint) const {
  problems_.error(ExitCode::bad_file, where_, member, std::move(message), std::move(hint));
}

}  // namespace pleat::interop
