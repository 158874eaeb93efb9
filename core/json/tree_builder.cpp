// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/json/tree_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/json/parse.hpp"

namespace pleat {
namespace {

// What a container has, in no more room than it needs.
template <class Value>
std::vector<Value> cut_off(std::vector<Value>& values, std::size_t begin) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
  std::vector<Value> cut(std::make_move_iterator(first), std::make_move_iterator(values.end()));
  values.erase(first, values.end());
  return cut;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return text.size() > limit ? out + "..." : out;
}

bool TreeBuilder::value(JsonValue value, Position at) {
  value.set_position(at);
  if (++values_ > kMaxJsonValues) {
    error(at, fmt::format("more than {} values in one document", kMaxJsonValues));
    return false;
  }
  return attach(std::move(value));
}

bool TreeBuilder::text(std::string text, Position at) {
  return check_length(text, at) && value(JsonValue(std::move(text)), at);
}

bool TreeBuilder::key(std::string name, Position at) {
  if (!check_length(name, at)) return false;
  const std::optional<Position> first = allow_duplicate_keys_ ? std::nullopt : earlier(name, at);
  frames_.back().key = std::move(name);
  frames_.back().key_position = at;
  if (first) {
    error(at, fmt::format("duplicate key; first at line {}, column {}", first->line, first->column),
          "keep one of the two");
  }
  return true;
}

bool TreeBuilder::open(bool is_array, Position at) {
  if (frames_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) {
    problems_.error(ExitCode::bad_file, where_of(file_, at), "",
                    fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    return false;
  }
  frames_.push_back({is_array, at, is_array ? items_.size() : members_.size()});
  return true;
}

bool TreeBuilder::close() {
  const Frame& frame = frames_.back();
  const Position at = frame.position;
  JsonValue container = frame.is_array ? JsonValue::array() : JsonValue::object();
  if (frame.is_array)
    container.mutable_items() = cut_off(items_, frame.begin);
  else
    container.mutable_members() = cut_off(members_, frame.begin);
  frames_.pop_back();
  return value(std::move(container), at);
}

void TreeBuilder::error(Position at, std::string message, std::string hint) {
  problems_.error(ExitCode::bad_file, where_of(file_, at), path(), std::move(message),
                  std::move(hint));
}

bool TreeBuilder::check_length(std::string_view text, Position at) {
  if (text.size() <= kMaxJsonString) return true;
  error(at, fmt::format("string of {} bytes; at most {} are allowed", text.size(), kMaxJsonString));
  return false;
}

bool TreeBuilder::attach(JsonValue value) {
  if (frames_.empty()) {
    root = std::move(value);
    return true;
  }
  Frame& frame = frames_.back();
  std::size_t size = 0;
  if (frame.is_array) {
    items_.push_back(std::move(value));
    size = items_.size() - frame.begin;
  } else {
    members_.push_back({std::move(frame.key), frame.key_position, std::move(value)});
    frame.key.clear();
    size = members_.size() - frame.begin;
  }
  if (size <= kMaxJsonItems) return true;
  error(frame.position, fmt::format("more than {} entries in one array or object", kMaxJsonItems));
  return false;
}

std::string TreeBuilder::path() const {
  std::string text;
  for (auto frame = frames_.begin(); frame != frames_.end(); ++frame) {
    if (frame->is_array) {
      const auto inner = std::ranges::find_if(std::next(frame), frames_.end(), &Frame::is_array);
      const std::size_t end = inner == frames_.end() ? items_.size() : inner->begin;
      text += fmt::format("[{}]", end - frame->begin);
    } else if (!frame->key.empty()) {
      text += (text.empty() ? "" : ".") + printable(frame->key, 80);
    }
  }
  return text;
}

// Where the innermost object has that key already. Few keys are compared one by one, which takes no
// memory.
std::optional<Position> TreeBuilder::earlier(std::string_view name, Position at) {
  constexpr std::size_t kFew = 16;
  Frame& frame = frames_.back();
  const std::span<const JsonMember> members = std::span(members_).subspan(frame.begin);
  if (members.size() < kFew) {
    const auto found = std::ranges::find(members, name, &JsonMember::key);
    return found == members.end() ? std::nullopt : std::optional(found->position);
  }
  if (frame.keys.empty())
    for (const JsonMember& m : members) frame.keys.emplace(m.key, m.position);
  const auto [first, fresh] = frame.keys.emplace(name, at);
  return fresh ? std::nullopt : std::optional(first->second);
}

}  // namespace pleat
