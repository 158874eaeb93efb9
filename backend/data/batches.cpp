// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/batches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
Batches::Batches(std::shared_ptr<const SampleSource> source, const WorkloadSpec& workload,
                 std::int64_t vocab, int dp, int micro_batch, const PackingRules& rules,
                 std::int64_t first_sample)
    : source_(std::move(source)),
      seq_len_(workload.seq_len),
      global_batch_(workload.global_batch),
      vocab_(vocab),
      first_sample_(first_sample),
      dp_(dp),
      micro_batch_(micro_batch),
      rules_(rules) {
  PLEAT_ASSERT(source_->seq_len() == seq_len_);
}

std::int64_t Batches::sample(std::int64_t step, int microbatch, int dp_rank, std::int64_t i) const {
  return first_sample_ + step * global_batch_ +
         (std::int64_t{microbatch} * dp_ + dp_rank) * micro_batch_ + i;
}

void Batches::check(std::span<const std::int32_t> tokens, std::int64_t sample) const {
  for (const std::int32_t token : tokens) {
    if (token >= 0 && token < vocab_) continue;
    throw_config_error(
        ExitCode::bad_file, source_->name(), "",
        fmt::format("token {} of sample {} is not in the vocabulary of {} tokens", token, sample,
                    vocab_),
        "data that was made with the model's tokenizer, or a model with a larger vocab_size");
  }
}

void Batches::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  if (sample >= source_->size()) {
    throw_config_error(
        ExitCode::bad_file, source_->name(), "",
        fmt::format("has {} samples; sample {} was asked for", source_->size(), sample),
        "a shorter run, or more data");
  }
  source_->read(sample, tokens);
  check(tokens, sample);
}

template <class Use>
void Batches::each_sample(std::int64_t step, int microbatch, int dp_rank, Use use) const {
  std::vector<std::int32_t> text(static_cast<std::size_t>(seq_len_) + 1);
  for (std::int64_t i = 0; i < micro_batch_; ++i) {
    read(sample(step, microbatch, dp_rank, i), text);
    use(std::span<const std::int32_t>(text), static_cast<std::size_t>(i * seq_len_));
  }
}

void Batches::tokens(std::int64_t step, int microbatch, int dp_rank,
                     std::span<std::int32_t> out) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(out.size()) == micro_batch_ * seq_len_);
  each_sample(step, microbatch, dp_rank, [&](std::span<const std::int32_t> text, std::size_t at) {
    std::copy(text.begin(), text.end() - 1, out.begin() + static_cast<std::ptrdiff_t>(at));
  });
}

void Batches::labels(std::int64_t step, int microbatch, int dp_rank,
                     std::span<std::int32_t> out) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(out.size()) == micro_batch_ * seq_len_);
  each_sample(step, microbatch, dp_rank, [&](std::span<const std::int32_t> text, std::size_t at) {
    std::copy(text.begin() + 1, text.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    mask_labels(text.first(text.size() - 1), rules_, out.subspan(at, text.size() - 1));
  });
}

double Batches::loss_weight(std::int64_t step) const {
  if (!rules_.mask_loss) return 1;
  const std::lock_guard lock(mutex_);
  if (weighed_step_ == step) return weight_;
  std::vector<std::int32_t> text(static_cast<std::size_t>(seq_len_) + 1);
  std::int64_t masked = 0;
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    read(first_sample_ + step * global_batch_ + i, text);
    masked += std::count(text.begin(), text.end() - 1, rules_.end_of_document);
  }
  const std::int64_t all = global_batch_ * seq_len_;
  weight_ = masked == all ? 0 : static_cast<double>(all) / static_cast<double>(all - masked);
  weighed_step_ = step;
  return weight_;
}

void Batches::positions(std::int64_t step, int microbatch, int dp_rank,
                        std::span<std::int32_t> out) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(out.size()) == micro_batch_ * seq_len_);
  each_sample(step, microbatch, dp_rank, [&](std::span<const std::int32_t> text, std::size_t at) {
    position_ids(text.first(text.size() - 1), rules_, out.subspan(at, text.size() - 1));
  });
}

void Batches::document_starts(std::int64_t step, int microbatch, int dp_rank,
                              std::span<std::int32_t> out) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(out.size()) == micro_batch_ * seq_len_);
  each_sample(step, microbatch, dp_rank, [&](std::span<const std::int32_t> text, std::size_t at) {
    pleat::document_starts(text.first(text.size() - 1), rules_, out.subspan(at, text.size() - 1));
  });
}

}  // namespace pleat
