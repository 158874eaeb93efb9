// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/mesh_message.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace pleat {

std::optional<MeshNews> read_news(const MeshHeader& h, Message payload, const RosterEntry& sender,
                                  Rank first, int count) {
  const auto text = [&] {
    return std::string(reinterpret_cast<const char*>(payload.data.get()), payload.size);
  };
  const auto is_one_of = [](std::int32_t rank, int begin, int ranks) {
    return rank >= begin && rank < begin + ranks;
  };
  switch (h.kind) {
    case MeshKind::message:
      if (!is_one_of(h.from, sender.first_rank, sender.ranks) ||
          !is_one_of(h.to, first.value, count)) {
        return std::nullopt;
      }
      return FromRank{{Rank{h.from}, Rank{h.to}, h.label}, std::move(payload)};
    case MeshKind::beat: {
      SignOfLife beat;
      if (payload.size == sizeof(std::int64_t))
        std::memcpy(&beat.progress.emplace(), payload.data.get(), sizeof(std::int64_t));
      return beat;
    }
    case MeshKind::abort:
      return JobAborted{text()};
    case MeshKind::ask:
      return AsksWhere{};
    case MeshKind::answer:
      return RanksAreAt{read_lines(text())};
    case MeshKind::bye:
      return GoodBye{};
  }
  return std::nullopt;
}

std::string to_lines(const std::vector<RankWhere>& all) {
  std::string text;
  for (const RankWhere& w : all) text += fmt::format("{}\t{}\n", w.rank.value, w.where);
  return text;
}

std::vector<RankWhere> read_lines(const std::string& text) {
  std::vector<RankWhere> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t tab = text.find('\t', at), end = text.find('\n', at);
    if (tab == std::string::npos || end == std::string::npos || tab > end) break;
    all.push_back({Rank{std::atoi(text.c_str() + at)}, text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
  return all;
}

}  // namespace pleat
