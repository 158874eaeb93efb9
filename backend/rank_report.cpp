// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_report.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace pleat {
namespace {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(const T& value) { append(&value, sizeof value); }
  void operator()(const std::string& text) { list(text.data(), text.size(), 1); }
  void operator()(const std::vector<float>& v) { list(v.data(), v.size(), sizeof(float)); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void list(const void* from, std::size_t count, std::size_t each) {
    (*this)(static_cast<std::uint64_t>(count));
    append(from, count * each);
  }
  void append(const void* from, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(T& value) { std::memcpy(&value, piece(sizeof value).data(), sizeof value); }
  void operator()(std::string& text) { list(text, 1); }
  void operator()(std::vector<float>& v) { list(v, sizeof(float)); }
  [[nodiscard]] std::uint64_t count() {
    std::uint64_t n = 0;
    (*this)(n);
    if (n > left_.size()) broken();
    return n;
  }
  void end() const {
    if (!left_.empty()) broken();
  }

 private:
  [[noreturn]] static void broken() { throw std::runtime_error("a rank's report is broken"); }
  template <class List>
  void list(List& to, std::size_t each) {
    to.resize(count());
    const auto from = piece(to.size() * each);
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }
  std::span<const std::byte> piece(std::size_t bytes) {
    if (bytes > left_.size()) broken();
    const auto first = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return first;
  }
  std::span<const std::byte> left_;
};

// Both directions in one order.
void span_fields(auto& each, auto& s) {
  each(s.key.stage), each(s.key.microbatch), each(s.key.chunk), each(s.key.layer);
  each(s.key.pass), each(s.key.op);
  each(s.rank), each(s.stream), each(s.start_s), each(s.duration_s), each(s.category);
  each(s.bytes), each(s.track);
}

void write_map(Packer& p, const auto& map, auto write_value) {
  p(static_cast<std::uint64_t>(map.size()));
  for (const auto& [key, value] : map) {
    p(key);
    write_value(value);
  }
}

template <class Map>
void read_map(Unpacker& u, Map& map, auto read_value) {
  for (std::uint64_t left = u.count(); left > 0; --left) {
    typename Map::key_type key;
    u(key);
    read_value(map[key]);
  }
}

}  // namespace

std::vector<std::byte> pack(const RankReport& r) {
  Packer p;
  p(r.measured.peak_live_bytes), p(r.measured.peak_host_bytes);
  p(r.measured.block_bytes), p(r.measured.device_bytes);
  p(static_cast<std::uint64_t>(r.measured.routed.size()));
  for (const auto& [where, count] : r.measured.routed) p(where.first), p(where.second), p(count);
  p(r.router_margin);
  p(static_cast<std::uint64_t>(r.spans.size()));
  for (const Span& s : r.spans) span_fields(p, s);
  const auto write_ranges = [&](const std::vector<BucketRange>& ranges) {
    p(static_cast<std::uint64_t>(ranges.size()));
    for (const BucketRange& range : ranges) p(range.offset), p(range.values);
  };
  write_map(p, r.tensors.weights, write_ranges);
  write_map(p, r.tensors.buffers, [&](const std::vector<float>& v) { p(v); });
  write_map(p, r.tensors.gradients, write_ranges);
  return p.take();
}

RankReport unpack(std::span<const std::byte> bytes) {
  Unpacker u(bytes);
  RankReport r;
  u(r.measured.peak_live_bytes), u(r.measured.peak_host_bytes);
  u(r.measured.block_bytes), u(r.measured.device_bytes);
  for (std::uint64_t left = u.count(); left > 0; --left) {
    std::pair<int, int> where;
    u(where.first), u(where.second), u(r.measured.routed[where]);
  }
  u(r.router_margin);
  r.spans.resize(u.count());
  for (Span& s : r.spans) span_fields(u, s);
  const auto read_ranges = [&](std::vector<BucketRange>& ranges) {
    ranges.resize(u.count());
    for (BucketRange& range : ranges) u(range.offset), u(range.values);
  };
  read_map(u, r.tensors.weights, read_ranges);
  read_map(u, r.tensors.buffers, [&](std::vector<float>& v) { u(v); });
  read_map(u, r.tensors.gradients, read_ranges);
  u.end();
  return r;
}

}  // namespace pleat
