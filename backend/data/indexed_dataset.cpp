// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/indexed_dataset.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void convert(const std::byte* from, std::span<std::int32_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    if constexpr (sizeof(T) == 8) {
      tokens[i] = value < 0 || value > std::numeric_limits<std::int32_t>::max()
                      ? -1
                      : static_cast<std::int32_t>(value);
    } else {
      tokens[i] = static_cast<std::int32_t>(value);
    }
  }
}

[[noreturn]] void bad(const std::string& file, const std::string& field, const std::string& what,
                      const std::string& hint = "make it anew with `pleat data make`") {
  throw_config_error(ExitCode::bad_file, file, field, what, hint);
}

}  // namespace

IndexedDataset::IndexedDataset(const std::string& prefix)
    : prefix_(prefix), bin_(prefix + ".bin") {
  read_index(ReadFile(prefix + ".idx"));
  check_sequences();
}

void IndexedDataset::read_index(const ReadFile& file) {
  std::vector<std::byte> index(std::min<std::uint64_t>(file.size(), kIndexHeaderBytes));
  file.read(0, index);
  if (index.size() < kIndexHeaderBytes ||
      std::memcmp(index.data(), kIndexMagic.data(), kIndexMagic.size()) != 0) {
    bad(prefix_ + ".idx", "", "is no index of Megatron-LM: it does not begin with MMIDIDX");
  }
  const auto version = value_at<std::uint64_t>(index, 9);
  if (version != kIndexVersion)
    bad(prefix_ + ".idx", "version", fmt::format("is {}; 1 is known", version));
  const auto code = value_at<std::uint8_t>(index, 17);
  if (code < 1 || code > 8)
    bad(prefix_ + ".idx", "dtype", fmt::format("{} is no type of tokens", code), "1 to 5, or 8");
  type_ = static_cast<TokenType>(code);
  if (type_ == TokenType::f32 || type_ == TokenType::f64) {
    bad(prefix_ + ".idx", "dtype", fmt::format("{} values are no tokens", name_of(type_)),
        "a dataset of integers");
  }
  const auto sequences = value_at<std::uint64_t>(index, 18);
  const auto boundaries = value_at<std::uint64_t>(index, 26);
  // Counts that could not be in the file would overflow what follows.
  const std::uint64_t rest = file.size() - kIndexHeaderBytes;
  const bool possible = sequences <= rest / 12 && boundaries <= rest / 8;
  const std::uint64_t expected = possible ? 12 * sequences + 8 * boundaries : 0;
  if (!possible || rest < expected) {
    bad(prefix_ + ".idx", "",
        fmt::format("has {} bytes; {} sequences and {} document boundaries need more", file.size(),
                    sequences, boundaries));
  }
  if (sequences > 0 && rest == expected + sequences) {
    bad(prefix_ + ".idx", "modes",
        "the dataset is multimodal (a mode for each sequence), which cannot be trained on",
        "a dataset of text");
  }
  if (rest != expected) {
    bad(prefix_ + ".idx", "",
        fmt::format("has {} bytes more than {} sequences and {} document boundaries take",
                    rest - expected, sequences, boundaries));
  }
  std::uint64_t at = kIndexHeaderBytes;
  lengths_.resize(sequences);
  pointers_.resize(sequences);
  file.read(at, std::as_writable_bytes(std::span(lengths_)));
  file.read(at + 4 * sequences, std::as_writable_bytes(std::span(pointers_)));
  at += 12 * sequences;
  std::vector<std::byte> documents(8 * boundaries);
  file.read(at, documents);
  check_documents(documents);
}

void IndexedDataset::check_documents(std::span<const std::byte> numbers) {
  const std::size_t count = numbers.size() / 8;
  if (count == 0)
    bad(prefix_ + ".idx", "document_indices", "is empty", "0 and the end of each document");
  std::int64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = value_at<std::int64_t>(numbers, 8 * i);
    const bool ends = i + 1 == count && number != static_cast<std::int64_t>(lengths_.size());
    if ((i == 0 && number != 0) || number < before || ends) {
      bad(prefix_ + ".idx", fmt::format("document_indices[{}]", i),
          fmt::format("is {}; they begin with 0, never fall, and end with {}", number,
                      lengths_.size()));
    }
    before = number;
  }
  documents_ = static_cast<std::int64_t>(count) - 1;
}

void IndexedDataset::check_sequences() {
  const auto width = static_cast<std::int64_t>(bytes_of(type_));
  const auto size = static_cast<std::int64_t>(bin_.size());
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    const std::int64_t length = lengths_[i], begin = pointers_[i];
    if (length < 0)
      bad(prefix_ + ".idx", fmt::format("sequence_lengths[{}]", i), fmt::format("is {}", length));
    if (begin < 0 || begin > size || length * width > size - begin) {
      bad(prefix_ + ".bin", "",
          fmt::format("has {} bytes; sequence {} of the index lies at {} and has {} {} tokens",
                      size, i, begin, length, name_of(type_)));
    }
    tokens_ += length;
  }
  if (tokens_ * width != size) {
    bad(prefix_ + ".bin", "",
        fmt::format("has {} bytes; the {} tokens of the index are {}", size, tokens_,
                    tokens_ * width));
  }
}

void IndexedDataset::read(std::int64_t sequence, std::int64_t offset,
                          std::span<std::int32_t> tokens) const {
  const auto s = static_cast<std::size_t>(sequence);
  PLEAT_ASSERT(offset + static_cast<std::int64_t>(tokens.size()) <= lengths_[s]);
  const auto width = static_cast<std::int64_t>(bytes_of(type_));
  std::vector<std::byte> bytes(tokens.size() * static_cast<std::size_t>(width));
  bin_.read(static_cast<std::uint64_t>(pointers_[s] + offset * width), bytes);
  const std::byte* const from = bytes.data();
  switch (type_) {
    case TokenType::u8:
      return convert<std::uint8_t>(from, tokens);
    case TokenType::i8:
      return convert<std::int8_t>(from, tokens);
    case TokenType::i16:
      return convert<std::int16_t>(from, tokens);
    case TokenType::i32:
      return convert<std::int32_t>(from, tokens);
    case TokenType::i64:
      return convert<std::int64_t>(from, tokens);
    case TokenType::u16:
      return convert<std::uint16_t>(from, tokens);
    case TokenType::f64:
    case TokenType::f32:
      break;  // refused by read_index
  }
  PLEAT_ASSERT(false);
}

bool is_indexed_prefix(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + ".idx", ignored);
}

namespace {

[[noreturn]] void fail(const std::string& path) {
  throw_config_error(ExitCode::device_or_io, path, "",
                     fmt::format("cannot write: {}", std::strerror(errno)));
}

template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

template <class T>
void narrow(std::span<const std::int32_t> tokens, std::vector<char>& buffer) {
  buffer.resize(tokens.size() * sizeof(T));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const T value = static_cast<T>(tokens[i]);
    PLEAT_ASSERT(static_cast<std::int32_t>(value) == tokens[i]);
    std::memcpy(buffer.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

IndexedWriter::IndexedWriter(const std::string& prefix, TokenType type)
    : prefix_(prefix),
      partial_bin_(fmt::format("{}.bin.tmp.{}", prefix, ::getpid())),
      partial_idx_(fmt::format("{}.idx.tmp.{}", prefix, ::getpid())),
      type_(type) {
  PLEAT_ASSERT(type == TokenType::u16 || type == TokenType::i32 || type == TokenType::u8);
  bin_ = std::fopen(partial_bin_.c_str(), "wb");
  if (bin_ == nullptr) fail(prefix + ".bin");
}

IndexedWriter::~IndexedWriter() {
  if (bin_ != nullptr) std::fclose(bin_);
  if (idx_ != nullptr) std::fclose(idx_);
  if (finished_) return;
  ::unlink(partial_bin_.c_str());
  ::unlink(partial_idx_.c_str());
}

void IndexedWriter::write(std::FILE* file, const void* data, std::size_t bytes,
                          const std::string& path) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes) fail(path);
}

void IndexedWriter::add(std::span<const std::int32_t> document) {
  if (document.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw_config_error(
        ExitCode::bad_file, prefix_, "",
        fmt::format("document {} has {} tokens; an index holds at most {} each", documents(),
                    document.size(), std::numeric_limits<std::int32_t>::max()),
        "smaller documents");
  }
  if (type_ == TokenType::u8) narrow<std::uint8_t>(document, buffer_);
  if (type_ == TokenType::u16) narrow<std::uint16_t>(document, buffer_);
  if (type_ == TokenType::i32) narrow<std::int32_t>(document, buffer_);
  write(bin_, buffer_.data(), buffer_.size(), prefix_ + ".bin");
  lengths_.push_back(static_cast<std::int32_t>(document.size()));
  tokens_ += static_cast<std::int64_t>(document.size());
}

std::string IndexedWriter::index() const {
  std::string bytes(kIndexMagic);
  append(bytes, kIndexVersion);
  append(bytes, static_cast<std::uint8_t>(type_));
  append(bytes, static_cast<std::uint64_t>(lengths_.size()));
  append(bytes, static_cast<std::uint64_t>(lengths_.size()) + 1);
  for (const std::int32_t length : lengths_) append(bytes, length);
  std::int64_t pointer = 0;
  for (const std::int32_t length : lengths_) {
    append(bytes, pointer);
    pointer += length * static_cast<std::int64_t>(bytes_of(type_));
  }
  for (std::size_t i = 0; i <= lengths_.size(); ++i) append(bytes, static_cast<std::int64_t>(i));
  return bytes;
}

void IndexedWriter::close(std::FILE*& file, const std::string& path) {
  const bool flushed = std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  const int error = errno;
  const bool closed = std::fclose(std::exchange(file, nullptr)) == 0;
  if (!flushed) errno = error;
  if (!flushed || !closed) fail(path);
}

// An old index must not stand beside a new .bin, so it goes before the .bin comes.
void IndexedWriter::finish() {
  close(bin_, prefix_ + ".bin");
  const std::string bytes = index();
  idx_ = std::fopen(partial_idx_.c_str(), "wb");
  if (idx_ == nullptr) fail(prefix_ + ".idx");
  write(idx_, bytes.data(), bytes.size(), prefix_ + ".idx");
  close(idx_, prefix_ + ".idx");
  if (::unlink((prefix_ + ".idx").c_str()) != 0 && errno != ENOENT) fail(prefix_ + ".idx");
  if (std::rename(partial_bin_.c_str(), (prefix_ + ".bin").c_str()) != 0) fail(prefix_ + ".bin");
  if (std::rename(partial_idx_.c_str(), (prefix_ + ".idx").c_str()) != 0) fail(prefix_ + ".idx");
  finished_ = true;
}

}  // namespace pleat
