// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One file of the safetensors format (github.com/huggingface/safetensors, "Format"): eight bytes
// with the length of a JSON header, the header, the tensors' bytes without holes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/element_type.hpp"
#include "backend/checkpoint/read_file.hpp"

namespace pleat {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

struct TensorEntry {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;   // row-major; [] is a scalar
  std::uint64_t begin = 0, end = 0;  // in the data after the header

  [[nodiscard]] std::int64_t elements() const;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Reads the header from the bytes of a file. Throws ConfigError (bad_file), which names the tensor,
// if a rule of the format is broken: types must be known, sizes must match shapes, and offsets must
// cover the data exactly once.
[[nodiscard]] SafetensorsHeader read_safetensors_header(std::span<const std::byte> file,
                                                        const std::string& path);
// The same for a file of `file_bytes` bytes, of which `head` has the first, with the header.
enum class DuplicateNames { refused, kept };  // kept: to repair files that should not have them
[[nodiscard]] SafetensorsHeader read_safetensors_header(
    std::span<const std::byte> head, std::uint64_t file_bytes, const std::string& path,
    DuplicateNames = DuplicateNames::refused);

// Makes the bytes before the first tensor: length, header, and padding to eight bytes. Fills in the
// offsets of `tensors`, in their order. Tensors of types below a byte must fill whole bytes.
[[nodiscard]] std::string make_safetensors_header(
    std::vector<TensorEntry>& tensors, const std::map<std::string, std::string>& metadata);

// A file open for reading.
class Safetensors {
 public:
  // Throws ConfigError: device_or_io if it cannot be read, bad_file if it is broken.
  explicit Safetensors(const std::string& path, FileSystem& files = real_files(),
                       DuplicateNames = DuplicateNames::refused);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const { return header_.tensors; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const {
    return header_.metadata;
  }
  [[nodiscard]] const TensorEntry* find(std::string_view name) const;  // nullptr: not in the file
  // All bytes of a tensor, or as many as fill `out`, from `offset` on. Throws ConfigError
  // (device_or_io).
  [[nodiscard]] std::vector<std::byte> bytes(const TensorEntry&) const;
  void read(const TensorEntry&, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  ReadFile file_;
  std::uint64_t data_offset_ = 0;
  SafetensorsHeader header_;
  std::map<std::string_view, const TensorEntry*> by_name_;
};

}  // namespace pleat
