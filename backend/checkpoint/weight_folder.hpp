// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The tensors of a Hugging Face model folder. They are in model.safetensors, or in several shards,
// which model.safetensors.index.json lists.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/safetensors.hpp"

namespace pleat {

class WeightFolder {
 public:
  // Throws ConfigError: device_or_io if files cannot be read, bad_file if they are broken or the
  // index does not agree with the shards.
  explicit WeightFolder(const std::string& folder);

  // A tensor and its file. `entry` is null if the folder has no tensor of that name.
  struct Found {
    const Safetensors* file = nullptr;
    const TensorEntry* entry = nullptr;
    [[nodiscard]] std::vector<std::byte> bytes() const { return file->bytes(*entry); }
  };
  [[nodiscard]] Found find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Found, std::less<>>& tensors() const {
    return tensors_;
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  void open_shards();

  std::string folder_;
  std::vector<std::unique_ptr<Safetensors>> files_;
  std::map<std::string, Found, std::less<>> tensors_;
};

// Writes tensors into folder/model.safetensors, or into several shards with an index. A shard has
// at most `shard_bytes` bytes, or one tensor. `fill` is called for the bytes of each tensor, in
// order. A file appears when it is complete, or not at all. Throws ConfigError (device_or_io).
void write_weight_folder(const std::string& folder, std::vector<TensorEntry> tensors,
                         std::uint64_t shard_bytes,
                         const std::function<void(const TensorEntry&, std::span<std::byte>)>& fill);

}  // namespace pleat
