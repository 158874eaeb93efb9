// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokenized documents by number, and the document boundaries of packed samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pleat {

// Tokenized documents by number: what samples are cut from.

class Documents {
 public:
  Documents() = default;
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;
  virtual ~Documents() = default;

  // Tokens of each document.
  [[nodiscard]] virtual std::span<const std::int32_t> lengths() const = 0;
  // tokens[i] = token offset + i of the document, which must have that many. A token that does not
  // fit 31 bits reads as -1.
  virtual void read(std::int64_t document, std::int64_t offset,
                    std::span<std::int32_t> tokens) const = 0;
  // For messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

// Documents in memory.
class MemoryDocuments final : public Documents {
 public:
  explicit MemoryDocuments(std::string name) : name_(std::move(name)) {}
  // At most 2^31 - 1 tokens.
  void add(std::span<const std::int32_t> tokens);

  [[nodiscard]] std::span<const std::int32_t> lengths() const override { return lengths_; }
  void read(std::int64_t document, std::int64_t offset,
            std::span<std::int32_t> tokens) const override;
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::vector<std::int32_t> tokens_, lengths_;
  std::vector<std::size_t> begins_;
};

// Samples packed from several documents: where each begins, for positions and attention that start
// anew, and which labels count.

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
