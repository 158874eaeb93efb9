// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/shard_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kShardBytes = std::int64_t{4} << 20;  // at once

void convert(ElementType from, ElementType to, std::span<const std::byte> source,
             std::byte* target) {
  const std::size_t n = source.size() * 8 / static_cast<std::size_t>(bits_of(from));
  std::vector<float> values(n);
  to_f32(from, source, values);
  from_f32(to, values, {target, n * static_cast<std::size_t>(bits_of(to)) / 8});
}

bool converts(ElementType from, ElementType to) {
  const bool writable = to == ElementType::f32 || to == ElementType::bf16 || to == ElementType::f16;
  return from == to || (is_readable(from) && writable);
}

}  // namespace

const Safetensors& ShardReader::shard(int rank) {
  std::unique_ptr<Safetensors>& file = shards_[rank];
  if (!file) file = std::make_unique<Safetensors>(folder_ + "/" + shard_name(rank), files_);
  return *file;
}

std::vector<ShardReader::Piece> ShardReader::pieces_of(const std::string& name,
                                                       const SavedTensor& tensor) {
  std::vector<Piece> pieces;
  for (const TensorPart& part : tensor.parts) {
    const Safetensors& file = shard(part.rank);
    const TensorEntry* entry = file.find(name);
    std::int64_t elements = 0;
    for (const RunPattern& run : part.runs) elements += run.total();
    if (entry == nullptr || entry->type != tensor.type || entry->elements() != elements) {
      throw_config_error(ExitCode::verification, file.path(), name,
                         "is not there as the manifest says");
    }
    std::uint64_t offset = 0;
    for (const RunPattern& run : part.runs) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        pieces.push_back({run.whole + i * run.step, run.elements, &file, entry, offset});
        offset += static_cast<std::uint64_t>(run.elements * bits_of(tensor.type) / 8);
      }
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.whole < b.whole; });
  return pieces;
}

template <class Take>
void ShardReader::for_each_piece(const KeptTensor& wanted, const std::string& from, Take take) {
  const auto fail = [&](const std::string& what) {
    throw_config_error(ExitCode::verification, folder_, from, what);
  };
  const auto found = manifest_.tensors.find(from);
  if (found == manifest_.tensors.end()) fail("is not in the checkpoint");
  const SavedTensor& tensor = found->second;
  if (tensor.elements != wanted.elements) {
    fail(fmt::format("has {} elements, the model's has {}", tensor.elements, wanted.elements));
  }
  if (!converts(tensor.type, wanted.type)) {
    fail(fmt::format("has type {}, which does not become {}", name_of(tensor.type),
                     name_of(wanted.type)));
  }
  const std::vector<Piece> pieces = pieces_of(from, tensor);
  for (const KeptRun& run : wanted.runs) {
    std::int64_t next = run.whole;
    const std::int64_t end = run.whole + run.elements;
    // The last piece that begins at or before `next`. Pieces overlap only where ranks saved the
    // same.
    auto piece = std::upper_bound(pieces.begin(), pieces.end(), next,
                                  [](std::int64_t at, const Piece& p) { return at < p.whole; });
    if (piece != pieces.begin()) --piece;
    while (next < end) {
      while (piece != pieces.end() && piece->whole + piece->elements <= next) ++piece;
      if (piece == pieces.end() || piece->whole > next) {
        fail(fmt::format("element {} is in no shard", next));
      }
      const std::int64_t count = std::min(end, piece->whole + piece->elements) - next;
      take(tensor.type, run, next, count, *piece);
      next += count;
    }
  }
}

void ShardReader::read(const KeptTensor& wanted, const std::string& from) {
  const std::int64_t width = bits_of(wanted.type) / 8;
  std::vector<std::byte> room;
  for_each_piece(wanted, from, [&](ElementType type, const KeptRun& run, std::int64_t first,
                                   std::int64_t count, const Piece& piece) {
    const std::int64_t from_width = bits_of(type) / 8;
    const std::int64_t most = std::max<std::int64_t>(1, kShardBytes / from_width);
    for (std::int64_t done = 0; done < count; done += most) {
      const std::int64_t n = std::min(most, count - done);
      const auto offset =
          piece.offset + static_cast<std::uint64_t>((first + done - piece.whole) * from_width);
      std::byte* target = run.data + (first + done - run.whole) * width;
      const auto bytes = static_cast<std::size_t>(n * from_width);
      if (type == wanted.type) {
        piece.file->read(*piece.entry, offset, {target, bytes});
        continue;
      }
      room.resize(bytes);
      piece.file->read(*piece.entry, offset, room);
      convert(type, wanted.type, room, target);
    }
  });
}

void ShardReader::require(const KeptTensor& wanted, const std::string& from) {
  for_each_piece(wanted, from, [](ElementType, const KeptRun&, std::int64_t, std::int64_t,
                                  const Piece&) {});
}

}  // namespace pleat
