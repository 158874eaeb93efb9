// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Samples packed from several documents: where each begins, for positions and attention that start
// anew, and which labels count.
#pragma once

#include <cstdint>
#include <span>

namespace pleat {

// A label that adds nothing to the loss.
inline constexpr std::int32_t kIgnoredLabel = -1;

// What happens at the token that ends a document. It belongs to the document it ends.
// (Megatron-LM's --reset-position-ids, --reset-attention-mask, --eod-mask-loss.)
struct PackingRules {
  std::int32_t end_of_document = -1;  // -1: none of these
  bool reset_positions = false;
  bool reset_attention = false;
  bool mask_loss = false;  // not trained to guess how the next document begins
};

// starts[i]: where the document of tokens[i] begins; a document begins at 0 and behind each end. 0
// throughout unless attention is reset: attention looks no further back than there.
void document_starts(std::span<const std::int32_t> tokens, const PackingRules&,
                     std::span<std::int32_t> starts);

// positions[i] = i, or the place in its document if they are reset.
void position_ids(std::span<const std::int32_t> tokens, const PackingRules&,
                  std::span<std::int32_t> positions);

// Puts kIgnoredLabel where a label does not count; labels[i] follows tokens[i].
void mask_labels(std::span<const std::int32_t> tokens, const PackingRules&,
                 std::span<std::int32_t> labels);

}  // namespace pleat
