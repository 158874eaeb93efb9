// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What processes tell each other of where their ranks are.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "backend/comm/mesh_peer.hpp"

namespace pleat {

std::string to_lines(const std::vector<RankWhere>& all) {
  std::string text;
  for (const RankWhere& w : all) text += fmt::format("{}\t{}\n", w.rank.value, w.where);
  return text;
}

void read_lines(const std::string& text, std::vector<RankWhere>& to) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t tab = text.find('\t', at), end = text.find('\n', at);
    if (tab == std::string::npos || end == std::string::npos || tab > end) return;
    to.push_back({Rank{std::atoi(text.c_str() + at)}, text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
}

void TcpMesh::watch(Watched watched) {
  const std::lock_guard lock(watch_mutex_);
  watched_ = std::move(watched);
}

std::int64_t TcpMesh::progress() const {
  std::int64_t sum = 0;
  for (const auto& peer : peers_) {
    if (peer != nullptr) sum += peer->progress.load();
  }
  return sum;
}

std::vector<RankWhere> TcpMesh::where(double seconds) {
  std::unique_lock lock(watch_mutex_);
  answers_.clear();
  answers_missing_ = peers_.size() - 1;
  lock.unlock();
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, Kind::ask, {}, {});
  }
  lock.lock();
  answered_.wait_until(lock, after(seconds), [&] { return answers_missing_ == 0; });
  std::vector<RankWhere> all = std::move(answers_);
  answers_.clear();
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    for (int r = peer->who.first_rank; r < peer->who.first_rank + peer->who.ranks; ++r) {
      const bool told = std::any_of(all.begin(), all.end(),
                                    [&](const RankWhere& w) { return w.rank.value == r; });
      if (!told) all.push_back({Rank{r}, "does not answer"});
    }
  }
  return all;
}

}  // namespace pleat
