// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/log/event_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are stored as they lie in memory");

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1U) != 0 ? 0x82f63b78U : 0U);
    table[i] = c;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class T>
std::string raw_text(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// --- protocol buffers: a field is its number and wire type, then its value

enum WireType : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string key(unsigned field, WireType type) { return varint(field << 3 | type); }
std::string field(unsigned number, double v) { return key(number, kFixed64) + raw_text(v); }
std::string field(unsigned number, float v) { return key(number, kFixed32) + raw_text(v); }
std::string field(unsigned number, std::int64_t v) {
  return key(number, kVarint) + varint(static_cast<std::uint64_t>(v));
}
std::string field(unsigned number, const std::string& v) {
  return key(number, kBytes) + varint(v.size()) + v;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
// Summary: 1 value (repeated). Value: 1 tag, 2 simple_value.
std::string event(double wall_time, std::int64_t step, unsigned number, const std::string& what) {
  return field(1, wall_time) + field(2, step) + field(number, what);
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t c = 0xffffffffU;
  for (char b : bytes) c = kTable[(c ^ static_cast<unsigned char>(b)) & 0xffU] ^ (c >> 8);
  return c ^ 0xffffffffU;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

std::string event_record(std::string_view data) {
  const std::string length = raw_text(static_cast<std::uint64_t>(data.size()));
  return length + raw_text(masked_crc32c(length)) + std::string(data) +
         raw_text(masked_crc32c(data));
}

std::string scalar_event(double wall_time, std::int64_t step,
                         const std::map<std::string, float>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) summary += field(1, field(1, tag) + field(2, value));
  return event(wall_time, step, 5, summary);
}

EventFile::EventFile(const std::string& folder) {
  std::error_code ignored;  // of which opening the file complains
  std::filesystem::create_directories(folder, ignored);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const double now = seconds_since_1970();
  path_ = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.0", folder,
                      static_cast<std::int64_t>(now), host, ::getpid());
  out_.open(path_, std::ios::binary);
  write(event(now, 0, 3, "brain.Event:2"));
}

void EventFile::add(std::int64_t step, const std::map<std::string, float>& scalars) {
  write(scalar_event(seconds_since_1970(), step, scalars));
}

void EventFile::write(const std::string& event) {
  const std::string record = event_record(event);
  out_.write(record.data(), static_cast<std::streamsize>(record.size())).flush();
  if (!out_) throw_config_error(ExitCode::device_or_io, path_, "", "cannot write");
}

}  // namespace pleat
