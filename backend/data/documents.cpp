// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/documents.hpp"

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat {

void MemoryDocuments::add(std::span<const std::int32_t> tokens) {
  PLEAT_ASSERT(tokens.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  begins_.push_back(tokens_.size());
  lengths_.push_back(static_cast<std::int32_t>(tokens.size()));
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void MemoryDocuments::read(std::int64_t document, std::int64_t offset,
                           std::span<std::int32_t> tokens) const {
  const auto d = static_cast<std::size_t>(document);
  PLEAT_ASSERT(offset + static_cast<std::int64_t>(tokens.size()) <= lengths_[d]);
  const auto* from = tokens_.data() + begins_[d] + offset;
  std::copy(from, from + tokens.size(), tokens.begin());
}

void document_starts(std::span<const std::int32_t> tokens, const PackingRules& rules,
                     std::span<std::int32_t> starts) {
  PLEAT_ASSERT(tokens.size() == starts.size());
  std::int32_t start = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    starts[i] = start;
    const bool ends = rules.reset_attention && tokens[i] == rules.end_of_document;
    if (ends) start = static_cast<std::int32_t>(i) + 1;
  }
}

void position_ids(std::span<const std::int32_t> tokens, const PackingRules& rules,
                  std::span<std::int32_t> positions) {
  PLEAT_ASSERT(tokens.size() == positions.size());
  std::int32_t next = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    positions[i] = next++;
    if (rules.reset_positions && tokens[i] == rules.end_of_document) next = 0;
  }
}

void mask_labels(std::span<const std::int32_t> tokens, const PackingRules& rules,
                 std::span<std::int32_t> labels) {
  PLEAT_ASSERT(tokens.size() == labels.size());
  if (!rules.mask_loss) return;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == rules.end_of_document) labels[i] = kIgnoredLabel;
  }
}

}  // namespace pleat
