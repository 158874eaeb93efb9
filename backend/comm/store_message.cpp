// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/store_message.hpp"

#include <span>
#include <string_view>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

template <class Header>
std::string with_tags(const Header& header, const std::string& payload, MessageTags& tags) {
  const auto header_bytes = std::as_bytes(std::span(&header, 1));
  const Tags made = tags.make(header_bytes, std::as_bytes(std::span(payload)));
  std::string all;
  all.reserve(sizeof header + sizeof made + payload.size());
  all.append(reinterpret_cast<const char*>(&header), sizeof header);
  all.append(reinterpret_cast<const char*>(&made), sizeof made);
  return all + payload;
}

std::string_view text_of(const Message& payload) {
  return {reinterpret_cast<const char*>(payload.data.get()), payload.size};
}

}  // namespace

StoreQuestion read_question(const QuestionHeader& h, const Message& payload) {
  const std::string_view both = text_of(payload);
  return {h.op, std::string(both.substr(0, h.key)), std::string(both.substr(h.key))};
}

StoreAnswer read_answer(const AnswerHeader& h, const Message& payload) {
  return {h.status, std::string(text_of(payload))};
}

std::string to_wire(const StoreQuestion& q, MessageTags& tags) {
  PLEAT_ASSERT(q.key.size() <= kMaxStoreKey && q.value.size() <= kMaxStoreValue);
  const QuestionHeader header{q.op, static_cast<std::uint32_t>(q.key.size()),
                              static_cast<std::uint32_t>(q.value.size())};
  return with_tags(header, q.key + q.value, tags);
}

std::string to_wire(const StoreAnswer& a, MessageTags& tags) {
  const AnswerHeader header{a.status, static_cast<std::uint32_t>(a.value.size())};
  return with_tags(header, a.value, tags);
}

}  // namespace pleat
