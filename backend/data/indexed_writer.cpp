// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/indexed_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "core/diagnostics.hpp"

namespace pleat {
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
