// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tokens each sample has, in the order of Megatron-LM, and the shuffles of numpy that make
// it.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/data/documents.hpp"

namespace pleat {

// Megatron-LM makes its sample order with numpy. These repeat, bit for bit, what
// numpy.random.RandomState shuffles and how numpy adds doubles.

// The random numbers: a Mersenne Twister whose seed is one number of 32 bits.
class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) : generator_(seed) {}

  // Shuffles at most 2^32 values (Fisher and Yates, from the end). Each call goes on drawing where
  // the last one stopped.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[below_or_at(i)]);
  }

 private:
  // A uniform number from 0 to `limit`: draws as many bits as the limit has until they are not
  // above it.
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

// What numpy.sum gives: it adds in pairs, with eight partial sums in blocks of up to 128 values.
[[nodiscard]] double numpy_sum(std::span<const double> values);

// Which tokens each sample has, exactly as in Megatron-LM's GPTDataset (NVIDIA/Megatron-LM d98e8a6,
// megatron/core/datasets/gpt_dataset.py and helpers.cpp). The documents are shuffled and laid end
// to end. They are cut into samples of seq_len tokens and one more, which the next sample begins
// with. Then the samples are shuffled.

class RandomState;

struct DocumentRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const DocumentRange&) const = default;
};

struct OrderRequest {
  DocumentRange documents;
  std::int64_t seq_len = 0;
  std::int64_t samples = 0;  // at least so many are made; 0: those of one epoch
  std::uint32_t seed = 0;
};

// Part of a document.
struct Piece {
  std::int64_t document = 0, offset = 0, length = 0;
  bool operator==(const Piece&) const = default;
};

class SampleOrder {
 public:
  // `lengths` has the number of tokens of every document. Documents are repeated until they suffice
  // for a sample. Throws ConfigError (bad_file), which names `name`, if there are fewer than two
  // tokens or more than 2^32 - 2 samples.
  SampleOrder(std::span<const std::int32_t> lengths, const OrderRequest&, const std::string& name);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(shuffle_.size()); }
  [[nodiscard]] int epochs() const { return epochs_; }
  [[nodiscard]] bool last_epoch_apart() const { return last_epoch_apart_; }

  // The parts of documents that make up a sample: seq_len + 1 tokens.
  [[nodiscard]] std::vector<Piece> pieces(std::int64_t index) const;

  // The arrays by the names of Megatron-LM, for tests and `pleat data inspect`.
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
  bool last_epoch_apart_ = false;  // it is shuffled apart, because only a part of it is used
  std::vector<std::int32_t> documents_;
  // Where sample i begins before the shuffle: place in documents_ and offset in that document. The
  // last entry is where the last sample ends.
  std::vector<std::int64_t> start_position_;
  std::vector<std::int32_t> start_offset_;
  std::vector<std::uint32_t> shuffle_;
};

}  // namespace pleat
