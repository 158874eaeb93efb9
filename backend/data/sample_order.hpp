// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tokens each sample has, in Megatron-LM's order, and numpy's shuffles behind it.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/data/documents.hpp"

namespace pleat {

// numpy.random.RandomState's shuffles of one-dimensional arrays, bit for bit, and numpy's sums of
// doubles: Megatron-LM's sample order is made of them.

// The Mersenne Twister, seeded with one number of 32 bits.
class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) : generator_(seed) {}

  // Fisher and Yates from the end; at most 2^32 values. Draws go on where the last call stopped.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[below_or_at(i)]);
  }

 private:
  // Uniform in [0, limit]: draws masked to the bits of the limit until one is not above it.
  std::size_t below_or_at(std::size_t limit) {
    std::uint32_t mask = static_cast<std::uint32_t>(limit);
    for (unsigned shift = 1; shift <= 16; shift *= 2) mask |= mask >> shift;
    std::uint32_t value = 0;
    do value = static_cast<std::uint32_t>(generator_()) & mask;
    while (value > limit);
    return value;
  }

  std::mt19937 generator_;
};

// numpy.sum: pairwise, with eight partial sums in blocks of up to 128.
[[nodiscard]] double numpy_sum(std::span<const double> values);

// Which tokens each sample has: Megatron-LM's GPTDataset, exactly (NVIDIA/Megatron-LM d98e8a6,
// megatron/core/datasets/gpt_dataset.py and helpers.cpp). Documents are shuffled and laid end to
// end, cut into pieces of seq_len that share one token with the next, and the pieces shuffled.

class RandomState;

struct DocumentRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const DocumentRange&) const = default;
};

struct OrderRequest {
  DocumentRange documents;
  std::int64_t seq_len = 0;
  std::int64_t samples = 0;  // at least so many; 0: those of one epoch
  std::uint32_t seed = 0;
};

// Part of a document.
struct Piece {
  std::int64_t document = 0, offset = 0, length = 0;
  bool operator==(const Piece&) const = default;
};

class SampleOrder {
 public:
  // lengths: tokens of every document. Documents shorter than a sample are repeated until there are
  // enough. Throws ConfigError (bad_file), naming `name`, when there are fewer than two tokens or
  // the order would have more than 2^32 - 2 samples.
  SampleOrder(std::span<const std::int32_t> lengths, const OrderRequest&, const std::string& name);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(shuffle_.size()); }
  [[nodiscard]] int epochs() const { return epochs_; }
  [[nodiscard]] bool last_epoch_apart() const { return last_epoch_apart_; }

  // The pieces of sample `index`: seq_len + 1 tokens.
  [[nodiscard]] std::vector<Piece> pieces(std::int64_t index) const;

  // As Megatron-LM names them, for tests and `pleat data inspect`.
  [[nodiscard]] const std::vector<std::int32_t>& document_index() const { return documents_; }
  [[nodiscard]] const std::vector<std::uint32_t>& shuffle_index() const { return shuffle_; }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> sample_start(std::int64_t unshuffled) const;

 private:
  void shuffle_documents(const DocumentRange&, RandomState&);
  void cut_samples(std::int64_t samples);
  void shuffle_samples(std::int64_t first_part, RandomState&);

  std::span<const std::int32_t> lengths_;
  std::int64_t seq_len_;
  int epochs_ = 1;
  bool last_epoch_apart_ = false;  // shuffled by itself, since only a part of it is used
  std::vector<std::int32_t> documents_;
  // Where unshuffled sample i begins: position in documents_ and offset there; one more at the end.
  std::vector<std::int64_t> start_position_;
  std::vector<std::int32_t> start_offset_;
  std::vector<std::uint32_t> shuffle_;
};

}  // namespace pleat
