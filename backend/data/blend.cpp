// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/blend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "backend/data/sample_order.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr double kMargin = 0.005;  // samples prepared beyond a part's share

// May be infinite or no number at all, if that is what the word says.
std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

[[noreturn]] void bad_split(const std::string& text, const std::string& what) {
  throw_config_error(ExitCode::bad_request, "--split", "", fmt::format("'{}' {}", text, what),
                     "shares of train, valid and test, for example \"969, 30, 1\"");
}

}  // namespace

const char* name_of(DataSplit split) {
  switch (split) {
    case DataSplit::train:
      return "train";
    case DataSplit::valid:
      return "valid";
    case DataSplit::test:
      return "test";
  }
  PLEAT_ASSERT(false);
}

SplitShares parse_split(const std::string& text) {
  std::vector<double> shares;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto share = number(trimmed(word));
    if (!share || !std::isfinite(*share) || *share < 0)
      bad_split(text, fmt::format("has '{}', which is no share", word));
    shares.push_back(*share);
  }
  if (shares.empty() || shares.size() > 3) bad_split(text, "has not one to three shares");
  shares.resize(3);
  if (numpy_sum(shares) <= 0) bad_split(text, "leaves nothing");
  const std::vector<double> parts = normalized(shares);
  return {parts[0], parts[1], parts[2]};
}

DocumentRange documents_of(const SplitShares& shares, DataSplit split, std::int64_t documents) {
  double begin = 0;
  for (int i = 0; i < static_cast<int>(split); ++i) begin += shares[static_cast<std::size_t>(i)];
  const double end = begin + shares[static_cast<std::size_t>(split)];
  if (end <= begin) return {};
  const auto at = [documents](double share) {  // to the nearest, halves to the even one
    return static_cast<std::int64_t>(std::nearbyint(share * static_cast<double>(documents)));
  };
  return {at(begin), at(end)};
}

std::vector<BlendPart> parse_blend(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  const auto bad = [&text](const std::string& what) {
    throw_config_error(
        ExitCode::bad_request, "--data", "", fmt::format("'{}' {}", text, what),
        "a file, a prefix, several of them, or weights and prefixes: \"0.3 A 0.7 B\"");
  };
  if (words.empty()) bad("names no data");
  std::vector<BlendPart> parts;
  if (!number(words[0])) {
    for (const std::string& word : words) parts.push_back({word, 0});
    return parts;
  }
  if (words.size() % 2 != 0) bad("has a weight without a name");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto weight = number(words[i]);
    if (!weight || !std::isfinite(*weight) || *weight <= 0)
      bad(fmt::format("has '{}' where a positive weight should be", words[i]));
    parts.push_back({words[i + 1], *weight});
  }
  if (parts.size() > std::numeric_limits<std::int16_t>::max()) bad("has too many parts");
  return parts;
}

std::vector<double> normalized(std::span<const double> weights) {
  const double sum = numpy_sum(weights);
  std::vector<double> result;
  for (const double w : weights) result.push_back(w / sum);
  return result;
}

std::int64_t share_of(std::int64_t samples, double weight) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(samples) * weight));
}

std::int64_t prepared_for(std::int64_t samples, double weight) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(share_of(samples, weight)) * (1 + kMargin)));
}

BlendOrder::BlendOrder(std::span<const double> weights, std::int64_t samples)
    : counts_(weights.size(), 0) {
  part_.reserve(static_cast<std::size_t>(samples));
  sample_.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) {
    const double done = std::max(static_cast<double>(i), 1.0);
    std::size_t most = 0;
    double behind = weights[0] * done - static_cast<double>(counts_[0]);
    for (std::size_t d = 1; d < weights.size(); ++d) {
      const double error = weights[d] * done - static_cast<double>(counts_[d]);
      if (error > behind) {
        behind = error;
        most = d;
      }
    }
    part_.push_back(static_cast<std::int16_t>(most));
    sample_.push_back(counts_[most]++);
  }
}

}  // namespace pleat
