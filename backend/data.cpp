// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {

Batches::Batches(std::span<const std::uint8_t> text, const WorkloadSpec& workload,
                 std::int64_t vocab, int dp, int micro_batch)
    : text_(text),
      seq_len_(workload.seq_len),
      global_batch_(workload.global_batch),
      dp_(dp),
      micro_batch_(micro_batch) {
  const auto length = static_cast<std::int64_t>(text.size());
  if (length < seq_len_ + 2) {
    throw_config_error(
        ExitCode::bad_file, "--data", "",
        fmt::format("the text has {} bytes; one sample of sequence length {} and its "
                    "last label need {}",
                    length, seq_len_, seq_len_ + 2),
        "a longer file, or a smaller --seq-len");
  }
  const auto largest = std::max_element(text.begin(), text.end());
  if (*largest >= vocab) {
    throw_config_error(ExitCode::bad_file, "--data", "",
                       fmt::format("byte {} at offset {} is not in the vocabulary of {} tokens",
                                   *largest, largest - text.begin(), vocab),
                       "a model with vocab_size 256 or more: tokens are bytes");
  }
}

std::int64_t Batches::sample_start(std::int64_t step, std::int64_t index) const {
  const std::int64_t sample = step * global_batch_ + index;
  return sample * seq_len_ % (static_cast<std::int64_t>(text_.size()) - seq_len_ - 1);
}

void Batches::fill(std::int64_t step, int microbatch, int dp_rank, std::int64_t shift,
                   std::span<std::int32_t> out) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(out.size()) == micro_batch_ * seq_len_);
  const std::int64_t first = (std::int64_t{microbatch} * dp_ + dp_rank) * micro_batch_;
  auto to = out.begin();
  for (std::int64_t i = 0; i < micro_batch_; ++i) {
    const auto from = text_.begin() + sample_start(step, first + i) + shift;
    to = std::copy(from, from + seq_len_, to);
  }
}

void Batches::tokens(std::int64_t step, int microbatch, int dp_rank,
                     std::span<std::int32_t> out) const {
  fill(step, microbatch, dp_rank, 0, out);
}

void Batches::labels(std::int64_t step, int microbatch, int dp_rank,
                     std::span<std::int32_t> out) const {
  fill(step, microbatch, dp_rank, 1, out);
}

}  // namespace pleat
