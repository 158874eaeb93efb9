// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pleat {

std::vector<std::string> gather_texts(Communicator& comm, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(ranks);
  comm.all_gather(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::uint64_t most = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::string> texts(ranks);
  if (most == 0) return texts;
  std::vector<std::byte> padded(most), all(most * ranks);
  if (size > 0) std::memcpy(padded.data(), mine.data(), size);
  comm.all_gather(padded, all);
  for (std::size_t r = 0; r < ranks; ++r) {
    texts[r].assign(reinterpret_cast<const char*>(all.data() + r * most), sizes[r]);
  }
  return texts;
}

std::string text_of_first(Communicator& comm, const std::string& mine) {
  return gather_texts(comm, comm.rank() == 0 ? mine : "").front();
}

std::string first_problem(Communicator& comm, const std::string& mine) {
  for (std::string& text : gather_texts(comm, mine)) {
    if (!text.empty()) return std::move(text);
  }
  return "";
}

}  // namespace pleat
