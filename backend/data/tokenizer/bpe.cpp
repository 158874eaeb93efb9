// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

#include "backend/data/tokenizer/decoder.hpp"
#include "backend/data/tokenizer/unicode.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::size_t kShort = 48;  // up to here a scan for the smallest rank beats a queue
constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

std::int32_t order_of(Merge m) { return m.rank < 0 ? kNone : m.rank; }

struct Candidate {
  std::int32_t rank, token;
  std::uint32_t left;                         // position of the left one
  std::int32_t left_token, right_token;       // as they were when this was queued
  bool operator<(const Candidate& o) const {  // the queue's top is the largest
    return rank != o.rank ? rank > o.rank : left > o.left;
  }
};

}  // namespace

void MergeTable::reserve(std::size_t count) {
  std::size_t size = 2;
  unsigned bits = 1;
  while (size < 2 * count) size *= 2, ++bits;
  slots_.assign(size, {});
  mask_ = size - 1;
  shift_ = 64 - bits;
}

void MergeTable::set(std::int32_t left, std::int32_t right, Merge merge) {
  std::size_t i = home(left, right);
  while (slots_[i].merge.rank >= 0 && (slots_[i].left != left || slots_[i].right != right)) {
    i = (i + 1) & mask_;
  }
  slots_[i] = {left, right, merge};
}

void MergeTable::apply(std::vector<std::int32_t>& tokens, std::size_t begin) const {
  std::size_t count = tokens.size() - begin;
  if (count < 2) return;
  if (count <= kShort) {
    apply_to_short(tokens.data() + begin, count);
  } else {
    apply_to_long(tokens.data() + begin, count);
  }
  tokens.resize(begin + count);
}

void MergeTable::apply_to_short(std::int32_t* tokens, std::size_t& count) const {
  std::array<Merge, kShort> merges;  // merges[i]: of tokens i and i + 1
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = find(tokens[i], tokens[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (order_of(merges[i]) < order_of(merges[best])) best = i;
    }
    if (merges[best].rank < 0) return;
    tokens[best] = merges[best].token;
    std::copy(tokens + best + 2, tokens + count, tokens + best + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + count - 1, merges.begin() + best);
    --count;
    if (best > 0) merges[best - 1] = find(tokens[best - 1], tokens[best]);
    if (best + 1 < count) merges[best] = find(tokens[best], tokens[best + 1]);
  }
}

void MergeTable::apply_to_long(std::int32_t* tokens, std::size_t& count) const {
  constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
  const auto n = static_cast<std::uint32_t>(count);
  std::vector<std::uint32_t> next(n), previous(n);
  std::vector<Candidate> first;
  const auto candidate = [&](std::uint32_t left, std::uint32_t right) {
    const Merge m = find(tokens[left], tokens[right]);
    return Candidate{m.rank, m.token, left, tokens[left], tokens[right]};
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kEnd : i - 1;
    next[i] = i + 1 == n ? kEnd : i + 1;
    if (i + 1 == n) continue;
    if (const Candidate c = candidate(i, i + 1); c.rank >= 0) first.push_back(c);
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(first));
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    const std::uint32_t right = next[c.left];
    if (right == kEnd || tokens[c.left] != c.left_token || tokens[right] != c.right_token) continue;
    tokens[c.left] = c.token;
    tokens[right] = -1;  // gone; no candidate has it
    next[c.left] = next[right];
    if (next[right] != kEnd) previous[next[right]] = c.left;
    if (previous[c.left] != kEnd) {
      if (const Candidate p = candidate(previous[c.left], c.left); p.rank >= 0) queue.push(p);
    }
    if (next[c.left] != kEnd) {
      if (const Candidate p = candidate(c.left, next[c.left]); p.rank >= 0) queue.push(p);
    }
  }
  count = 0;
  for (std::uint32_t i = 0; i != kEnd; i = next[i]) tokens[count++] = tokens[i];
}

Bpe::Bpe(const BpeSpec& spec, bool byte_level, const std::string& where)
    : byte_level_(byte_level),
      fuse_unknown_(spec.fuse_unknown),
      byte_fallback_(spec.byte_fallback),
      ignore_merges_(spec.ignore_merges) {
  for (const auto& [token, id] : spec.vocab) {
    if (id < 0 || id >= kMostTokens) {
      throw_config_error(ExitCode::bad_file, where, "model.vocab",
                         fmt::format("token '{}' has id {}", token, id),
                         fmt::format("ids from 0 to {}", kMostTokens - 1));
    }
    vocab_.emplace(token, id);
    if (id >= size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
    tokens_[static_cast<std::size_t>(id)] = token;
    if (!byte_level || !ignore_merges_) continue;
    if (const auto bytes = bytes_of_alphabet(token)) words_.emplace(*bytes, id);
  }
  for (std::size_t b = 0; b < 256; ++b) {
    byte_ids_[b] = byte_level ? id(byte_alphabet()[b]) : -1;
    fallback_ids_[b] = byte_fallback_ ? id(fmt::format("<0x{:02X}>", b)) : -1;
  }
  if (!spec.unknown.empty()) {
    unknown_ = id(spec.unknown);
    if (unknown_ < 0) {
      throw_config_error(ExitCode::bad_file, where, "model.unk_token",
                         fmt::format("'{}' is not in the vocabulary", spec.unknown));
    }
  }
  add_merges(spec, where);
}

void Bpe::add_merges(const BpeSpec& spec, const std::string& where) {
  merges_.reserve(spec.merges.size());
  cut_at_marks_ = !byte_level_ && !ignore_merges_ && id(kMark) >= 0;
  for (std::size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    const std::string both = left + right;
    for (const std::string& token : {left, right, both}) {
      if (id(token) >= 0) continue;
      throw_config_error(ExitCode::bad_file, where, fmt::format("model.merges[{}]", rank),
                         fmt::format("'{}' is not in the vocabulary", token),
                         "merges of tokens into tokens");
    }
    merges_.set(id(left), id(right), {static_cast<std::int32_t>(rank), id(both)});
    if (right.starts_with(kMark) && !left.ends_with(kMark)) cut_at_marks_ = false;
  }
}

std::int32_t Bpe::id(std::string_view token) const {
  const auto found = vocab_.find(token);
  return found == vocab_.end() ? -1 : found->second;
}

const std::string& Bpe::token(std::int32_t id) const {
  static const std::string none;
  return id >= 0 && id < size() ? tokens_[static_cast<std::size_t>(id)] : none;
}

// A character that the vocabulary lacks becomes its bytes if they are all there, else the unknown
// token, which comes once for a run of such characters if they are fused.
void Bpe::units_of(std::string_view word, std::vector<std::int32_t>& out) const {
  bool pending = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t bytes = byte_level_ ? 1 : decode_utf8(word, at).bytes;
    const std::string_view unit = word.substr(at, bytes);
    at += bytes;
    const std::int32_t known =
        byte_level_ ? byte_ids_[static_cast<std::uint8_t>(unit[0])] : id(unit);
    if (known >= 0) {
      if (pending) out.push_back(unknown_);
      pending = false;
      out.push_back(known);
      continue;
    }
    const std::string_view spelling =
        byte_level_ ? byte_alphabet()[static_cast<std::uint8_t>(unit[0])] : unit;
    const auto fallback = [this](char c) { return fallback_ids_[static_cast<std::uint8_t>(c)]; };
    if (byte_fallback_ &&
        std::all_of(spelling.begin(), spelling.end(), [&](char c) { return fallback(c) >= 0; })) {
      for (const char c : spelling) out.push_back(fallback(c));
    } else if (unknown_ >= 0) {
      if (pending && !fuse_unknown_) out.push_back(unknown_);
      pending = true;
    }
  }
  if (pending) out.push_back(unknown_);
}

void Bpe::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  if (ignore_merges_) {
    const VocabMap& words = byte_level_ ? words_ : vocab_;
    if (const auto whole = words.find(word); whole != words.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  const std::size_t begin = out.size();
  units_of(word, out);
  merges_.apply(out, begin);
}

}  // namespace pleat
