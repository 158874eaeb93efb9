// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokenized documents by number, and the document boundaries of packed samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pleat {

// Documents of tokens, by number. Samples are cut from them.

class Documents {
 public:
  Documents() = default;
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;
  virtual ~Documents() = default;

  // The number of tokens of each document.
  [[nodiscard]] virtual std::span<const std::int32_t> lengths() const = 0;
  // Fills `tokens` with those of a document, from `offset` on; there must be enough. A token of
  // more than 31 bits is read as -1.
  virtual void read(std::int64_t document, std::int64_t offset,
                    std::span<std::int32_t> tokens) const = 0;
  // Its name in messages.
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

// A sample may be packed from several documents. What follows says where each begins, so that
// positions and attention can start anew there, and which labels count.

// A label that adds nothing to the loss.
inline constexpr std::int32_t kIgnoredLabel = -1;

// What happens at the token that ends a document; the token belongs to that document.
// (Megatron-LM's --reset-position-ids, --reset-attention-mask and --eod-mask-loss.)
struct PackingRules {
  std::int32_t end_of_document = -1;  // -1: there is no such token
  bool reset_positions = false;
  bool reset_attention = false;
  bool mask_loss = false;  // no loss for guessing how the next document begins
};

// Fills starts[i] with the place where the document of tokens[i] begins: attention looks no further
// back. A document begins at 0 and behind each end of another one. All are 0 unless attention is
// reset.
void document_starts(std::span<const std::int32_t> tokens, const PackingRules&,
                     std::span<std::int32_t> starts);

// Fills positions[i] with i, or with the place of tokens[i] in its document if positions are reset.
void position_ids(std::span<const std::int32_t> tokens, const PackingRules&,
                  std::span<std::int32_t> positions);

// Puts kIgnoredLabel where a label does not count. labels[i] is the token that comes after
// tokens[i].
void mask_labels(std::span<const std::int32_t> tokens, const PackingRules&,
                 std::span<std::int32_t> labels);

}  // namespace pleat
