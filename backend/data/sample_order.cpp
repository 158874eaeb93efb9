// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/sample_order.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/diagnostics.hpp"

namespace pleat {

double numpy_sum(std::span<const double> v) {
  constexpr std::size_t kLanes = 8, kBlock = 128;
  if (v.size() < kLanes) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum;
  }
  if (v.size() > kBlock) {
    std::size_t half = v.size() / 2;
    half -= half % kLanes;
    return numpy_sum(v.first(half)) + numpy_sum(v.subspan(half));
  }
  std::array<double, kLanes> lane;
  for (std::size_t i = 0; i < kLanes; ++i) lane[i] = v[i];
  std::size_t i = kLanes;
  for (; i + kLanes <= v.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] += v[i + j];
  }
  double sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (; i < v.size(); ++i) sum += v[i];
  return sum;
}

namespace {

// Of a full epoch's samples: with fewer in the last epoch, it is shuffled by itself.
constexpr double kFullEnough = 0.80;

[[noreturn]] void bad_setting(const std::string& name, const std::string& what,
                              const std::string& hint) {
  throw_config_error(ExitCode::bad_file, name, "", what, hint);
}

// Indices are kept in memory: refused at once where there is not enough, not after minutes.
void require_memory(const std::string& name, std::int64_t samples, std::int64_t documents) {
  constexpr std::size_t kOfSample =
      sizeof(std::int64_t) + sizeof(std::int32_t) + sizeof(std::uint32_t);
  const double bytes = static_cast<double>(samples) * kOfSample +
                       static_cast<double>(documents) * sizeof(std::int32_t);
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes <= 0.8 * memory) return;
  bad_setting(name,
      fmt::format("the order of {} samples takes {:.0f} GB, this machine has {:.0f} GB", samples,
                  bytes / 1e9, memory / 1e9),
      "fewer samples in one run");
}

}  // namespace

SampleOrder::SampleOrder(std::span<const std::int32_t> lengths, const OrderRequest& r,
                         const std::string& name)
    : lengths_(lengths), seq_len_(r.seq_len) {
  PLEAT_ASSERT(r.seq_len > 0 && r.documents.begin >= 0 &&
               r.documents.end <= static_cast<std::int64_t>(lengths.size()));
  std::int64_t epoch_tokens = 0;
  for (std::int64_t d = r.documents.begin; d < r.documents.end; ++d)
    epoch_tokens += lengths[static_cast<std::size_t>(d)];
  std::int64_t wanted = 0;
  if (__builtin_mul_overflow(r.samples, seq_len_, &wanted) ||
      wanted == std::numeric_limits<std::int64_t>::max()) {
    bad_setting(name,
        fmt::format("{} samples of {} tokens are more than 64-bit numbers count", r.samples,
                    seq_len_),
        "fewer samples in one run");
  }
  ++wanted;
  if (epoch_tokens < 2) {
    bad_setting(name,
        fmt::format("documents {} to {} have {} tokens", r.documents.begin, r.documents.end,
                    epoch_tokens),
        "more data, or another --split");
  }
  const std::int64_t epochs = r.samples == 0 ? 1 : (wanted + epoch_tokens - 1) / epoch_tokens;
  const std::int64_t documents = r.documents.end - r.documents.begin;
  const std::int64_t total = (epochs * epoch_tokens - 1) / seq_len_;
  if (documents > std::numeric_limits<std::int32_t>::max() / epochs ||
      total >= std::numeric_limits<std::uint32_t>::max() - 1) {
    bad_setting(name,
        fmt::format("{} epochs of {} documents, {} samples: too many for one order", epochs,
                    documents, total),
        "fewer samples in one run");
  }
  require_memory(name, total, documents * epochs);
  epochs_ = static_cast<int>(epochs);
  const std::int64_t before_last = ((epochs - 1) * epoch_tokens - 1) / seq_len_;
  const std::int64_t each = (epoch_tokens - 1) / seq_len_;
  last_epoch_apart_ =
      epochs > 1 &&
      r.samples - before_last < static_cast<std::int64_t>(kFullEnough * static_cast<double>(each));
  RandomState random(r.seed);
  shuffle_documents(r.documents, random);
  cut_samples(total);
  shuffle_samples(last_epoch_apart_ ? before_last : total, random);
}

void SampleOrder::shuffle_documents(const DocumentRange& range, RandomState& random) {
  const auto count = static_cast<std::size_t>(range.end - range.begin);
  documents_.resize(count * static_cast<std::size_t>(epochs_));
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    documents_[i] = static_cast<std::int32_t>(range.begin + static_cast<std::int64_t>(i % count));
  }
  const std::span<std::int32_t> all(documents_);
  if (!last_epoch_apart_) return random.shuffle(all);
  random.shuffle(all.first(all.size() - count));
  random.shuffle(all.last(count));
}

void SampleOrder::cut_samples(std::int64_t samples) {
  start_position_.reserve(static_cast<std::size_t>(samples) + 1);
  start_offset_.reserve(static_cast<std::size_t>(samples) + 1);
  std::int64_t position = 0, offset = 0;
  const auto record = [&] {
    start_position_.push_back(position);
    start_offset_.push_back(static_cast<std::int32_t>(offset));
  };
  record();
  for (std::int64_t s = 0; s < samples; ++s) {
    // The sample's last token is the next one's first, so that this one ends one before the count.
    std::int64_t left = seq_len_ + 1;
    for (;;) {
      const std::int64_t here =
          lengths_[static_cast<std::size_t>(documents_[static_cast<std::size_t>(position)])] -
          offset;
      if (here >= left) break;
      left -= here;
      offset = 0;
      ++position;
    }
    offset += left - 1;
    record();
  }
}

void SampleOrder::shuffle_samples(std::int64_t first_part, RandomState& random) {
  shuffle_.resize(start_position_.size() - 1);
  std::iota(shuffle_.begin(), shuffle_.end(), 0U);
  const std::span<std::uint32_t> all(shuffle_);
  random.shuffle(all.first(static_cast<std::size_t>(first_part)));
  random.shuffle(all.subspan(static_cast<std::size_t>(first_part)));
}

std::pair<std::int64_t, std::int64_t> SampleOrder::sample_start(std::int64_t unshuffled) const {
  const auto i = static_cast<std::size_t>(unshuffled);
  return {start_position_[i], start_offset_[i]};
}

std::vector<Piece> SampleOrder::pieces(std::int64_t index) const {
  PLEAT_ASSERT(index >= 0 && index < size());
  const auto s = static_cast<std::size_t>(shuffle_[static_cast<std::size_t>(index)]);
  std::vector<Piece> list;
  std::int64_t left = seq_len_ + 1, offset = start_offset_[s];
  for (std::int64_t position = start_position_[s]; left > 0; ++position, offset = 0) {
    const std::int32_t document = documents_[static_cast<std::size_t>(position)];
    const std::int64_t length =
        std::min<std::int64_t>(left, lengths_[static_cast<std::size_t>(document)] - offset);
    if (length > 0) list.push_back({document, offset, length});
    left -= length;
  }
  return list;
}

}  // namespace pleat
