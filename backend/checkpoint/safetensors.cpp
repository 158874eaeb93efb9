// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"

namespace pleat {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are stored as they lie in memory");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

// Reads one entry of the header.
class EntryReader {
 public:
  EntryReader(const JsonMember& member, const std::string& path) : member_(member), path_(path) {}

  [[nodiscard]] TensorEntry read(std::uint64_t data_bytes) const {
    const JsonValue& value = member_.value;
    const JsonValue* type = value.find("dtype");
    const JsonValue* shape = value.find("shape");
    const JsonValue* offsets = value.find("data_offsets");
    if (type == nullptr || shape == nullptr || offsets == nullptr ||
        value.members().size() != 3) {
      fail("a tensor has exactly dtype, shape and data_offsets");
    }
    TensorEntry entry;
    entry.name = member_.key;
    entry.type = read_type(*type);
    for (const JsonValue& dim : items(*shape, "shape"))
      entry.shape.push_back(natural(dim, "shape"));
    const JsonValue::Array& ends = items(*offsets, "data_offsets");
    if (ends.size() != 2) fail("data_offsets are a begin and an end");
    entry.begin = static_cast<std::uint64_t>(natural(ends[0], "data_offsets"));
    entry.end = static_cast<std::uint64_t>(natural(ends[1], "data_offsets"));
    if (entry.begin > entry.end || entry.end > data_bytes) {
      fail(fmt::format("bytes {} to {} of {} bytes of data", entry.begin, entry.end, data_bytes));
    }
    require_size(entry);
    return entry;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw_config_error(ExitCode::bad_file, path_, member_.key, message);
  }

  [[nodiscard]] ElementType read_type(const JsonValue& value) const {
    const std::string* name = value.as_string();
    if (name == nullptr) fail("dtype is no string");
    const auto type = element_type_named(*name);
    if (!type) fail(fmt::format("unknown dtype {}", value.brief()));
    return *type;
  }

  [[nodiscard]] const JsonValue::Array& items(const JsonValue& value, const char* key) const {
    if (!value.is_array()) fail(fmt::format("{} is no array", key));
    return value.items();
  }

  [[nodiscard]] std::int64_t natural(const JsonValue& value, const char* key) const {
    const std::int64_t* number = value.as_integer();
    if (number == nullptr || *number < 0) {
      fail(fmt::format("{}: {} is no natural number", key, value.brief()));
    }
    return *number;
  }

  void require_size(const TensorEntry& entry) const {
    std::uint64_t bits = static_cast<std::uint64_t>(bits_of(entry.type));
    for (std::int64_t dim : entry.shape) {
      if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(dim), &bits)) {
        fail("the shape has more bits than 64-bit numbers count");
      }
    }
    if (bits % 8 != 0) fail(fmt::format("{} bits are no whole bytes", bits));
    if (bits / 8 != entry.end - entry.begin) {
      fail(fmt::format("the shape needs {} bytes, the offsets hold {}", bits / 8,
                       entry.end - entry.begin));
    }
  }

  const JsonMember& member_;
  const std::string& path_;
};

std::map<std::string, std::string> read_metadata(const JsonValue& value, const std::string& path) {
  std::map<std::string, std::string> metadata;
  const auto fail = [&path](const std::string& key) {
    throw_config_error(ExitCode::bad_file, path, key, "metadata maps strings to strings");
  };
  if (!value.is_object()) fail(std::string(kMetadata));
  for (const JsonMember& m : value.members()) {
    const std::string* const word = m.value.as_string();
    if (word == nullptr) fail(fmt::format("{}.{}", kMetadata, m.key));
    metadata[m.key] = *word;
  }
  return metadata;
}

// The data is covered once: no hole, no overlap, nothing left over.
void require_covered(const std::vector<TensorEntry>& tensors, std::uint64_t data_bytes,
                     const std::string& path) {
  std::uint64_t next = 0;
  for (const TensorEntry& t : tensors) {
    if (t.begin != next) {
      throw_config_error(
          ExitCode::bad_file, path, t.name,
          fmt::format("begins at byte {}, the tensor before it ends at {}", t.begin, next));
    }
    next = t.end;
  }
  if (next != data_bytes) {
    throw_config_error(ExitCode::bad_file, path, "",
                       fmt::format("{} bytes of data, the tensors cover {}", data_bytes, next));
  }
}

std::size_t header_bytes(std::span<const std::byte> head, std::uint64_t file_bytes,
                         const std::string& path) {
  if (file_bytes < kLengthBytes) {
    throw_config_error(ExitCode::bad_file, path, "",
                       fmt::format("{} bytes are too few for a safetensors file", file_bytes));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, head.data(), kLengthBytes);
  if (length > kMaxSafetensorsHeader) {
    throw_config_error(
        ExitCode::bad_file, path, "",
        fmt::format("a header of {} bytes; at most {} are allowed", length, kMaxSafetensorsHeader),
        "a safetensors file");
  }
  if (length > file_bytes - kLengthBytes) {
    throw_config_error(
        ExitCode::bad_file, path, "",
        fmt::format("truncated: a header of {} bytes in a file of {}", length, file_bytes));
  }
  return static_cast<std::size_t>(length);
}

}  // namespace

std::int64_t TensorEntry::elements() const {
  std::int64_t count = 1;
  for (std::int64_t dim : shape) count *= dim;
  return count;
}

SafetensorsHeader read_safetensors_header(std::span<const std::byte> file,
                                          const std::string& path) {
  return read_safetensors_header(file, file.size(), path);
}

SafetensorsHeader read_safetensors_header(std::span<const std::byte> head,
                                          std::uint64_t file_bytes, const std::string& path,
                                          DuplicateNames duplicates) {
  const std::size_t length = header_bytes(head, file_bytes, path);
  const auto* begin = reinterpret_cast<const char*>(head.data() + kLengthBytes);
  const std::string text(begin, length);
  if (!text.starts_with('{')) {
    throw_config_error(ExitCode::bad_file, path, "", "the header is no JSON object",
                       "a safetensors file");
  }
  const JsonValue root =
      parse_json(text, path,
                 {.allow_duplicate_keys = duplicates == DuplicateNames::kept,
                  .max_bytes = kMaxSafetensorsHeader});
  const std::uint64_t data_bytes = file_bytes - kLengthBytes - length;
  SafetensorsHeader header;
  for (const JsonMember& member : root.members()) {
    if (member.key == kMetadata) {
      header.metadata = read_metadata(member.value, path);
    } else if (!member.value.is_object()) {
      throw_config_error(ExitCode::bad_file, path, member.key, "is no object");
    } else {
      header.tensors.push_back(EntryReader(member, path).read(data_bytes));
    }
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  require_covered(header.tensors, data_bytes, path);
  return header;
}

std::string make_safetensors_header(std::vector<TensorEntry>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  JsonValue root = JsonValue::object();
  if (!metadata.empty()) {
    JsonValue values = JsonValue::object();
    for (const auto& [key, value] : metadata) values.set(key, value);
    root.set(std::string(kMetadata), std::move(values));
  }
  std::uint64_t next = 0;
  for (TensorEntry& t : tensors) {
    const auto bits = static_cast<std::uint64_t>(t.elements() * bits_of(t.type));
    PLEAT_ASSERT(bits % 8 == 0);
    t.begin = next;
    t.end = next += bits / 8;
    JsonValue shape = JsonValue::array(), offsets = JsonValue::array(), entry = JsonValue::object();
    for (std::int64_t dim : t.shape) shape.push_back(dim);
    offsets.push_back(t.begin).push_back(t.end);
    entry.set("dtype", name_of(t.type)).set("shape", shape).set("data_offsets", offsets);
    root.mutable_members().push_back({t.name, {}, std::move(entry)});
  }
  std::string text = root.dump(0);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes + text;
}

Safetensors::Safetensors(const std::string& path, FileSystem& files, DuplicateNames duplicates)
    : file_(path, files) {
  std::vector<std::byte> head(std::min(kLengthBytes, file_.size()));
  file_.read(0, head);
  const std::size_t length = header_bytes(head, file_.size(), path);
  data_offset_ = kLengthBytes + length;
  head.resize(data_offset_);
  file_.read(kLengthBytes, std::span(head).subspan(kLengthBytes));
  header_ = read_safetensors_header(head, file_.size(), path, duplicates);
  for (const TensorEntry& t : header_.tensors) by_name_[t.name] = &t;
}

const TensorEntry* Safetensors::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<std::byte> Safetensors::bytes(const TensorEntry& t) const {
  std::vector<std::byte> bytes(t.end - t.begin);
  read(t, 0, bytes);
  return bytes;
}

void Safetensors::read(const TensorEntry& t, std::uint64_t offset,
                       std::span<std::byte> out) const {
  PLEAT_ASSERT(offset + out.size() <= t.end - t.begin);
  file_.read(data_offset_ + t.begin + offset, out);
}

}  // namespace pleat
