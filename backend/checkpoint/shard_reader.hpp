// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads any elements of whole tensors from the shards of a checkpoint.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/checkpoint/kept_state.hpp"
#include "backend/checkpoint/manifest.hpp"
#include "backend/checkpoint/safetensors.hpp"

namespace pleat {

class ShardReader {
 public:
  // `folder` and `manifest` must outlive the reader. Shards are opened when they are first needed.
  ShardReader(const std::string& folder, const Manifest& manifest,
              FileSystem& files = real_files())
      : folder_(folder), manifest_(manifest), files_(files) {}

  [[nodiscard]] bool has(const std::string& name) const { return manifest_.tensors.contains(name); }
  // Fills the runs of a tensor from the saved tensor `from`, and converts its type. Throws
  // ConfigError (verification), which names the tensor, if an element is in no shard, or if size or
  // type differ.
  void read(const KeptTensor&, const std::string& from);
  // Throws what `read` would throw, but reads only headers.
  void require(const KeptTensor&, const std::string& from);

 private:
  struct Piece {  // a part of a whole tensor, and where its bytes are
    std::int64_t whole = 0, elements = 0;
    const Safetensors* file = nullptr;
    const TensorEntry* entry = nullptr;
    std::uint64_t offset = 0;  // bytes into the entry
  };
  const Safetensors& shard(int rank);
  [[nodiscard]] std::vector<Piece> pieces_of(const std::string& name, const SavedTensor&);
  // Calls take(type, run, first, count, piece) for each part of a wanted run that lies in one
  // piece. The part has `count` elements of the saved type, from element `first` of the whole
  // tensor on.
  template <class Take>
  void for_each_piece(const KeptTensor&, const std::string& from, Take take);

  const std::string& folder_;
  const Manifest& manifest_;
  FileSystem& files_;
  std::map<int, std::unique_ptr<Safetensors>> shards_;
};

}  // namespace pleat
