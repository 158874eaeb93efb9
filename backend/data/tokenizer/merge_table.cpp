// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/merge_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

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

}  // namespace pleat
