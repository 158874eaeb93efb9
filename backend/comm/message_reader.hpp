// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The bytes of an authenticated connection as messages: a header of known size, its tags, a
// payload. It knows no socket: whoever has bytes puts them into room() and says how many they were.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/comm/job_secret.hpp"
#include "backend/comm/message_hub.hpp"

namespace pleat {

// payload_bytes(): of the payload that follows; nullopt where it says more than is ever sent.
template <class Header>
concept MessageHeader = requires(const Header& h) {
  { h.payload_bytes() } -> std::same_as<std::optional<std::uint64_t>>;
};

// What goes before a payload.
template <MessageHeader Header>
struct Opening {
  Header header;
  Tags tags;
};

enum class Arrived : std::uint8_t { part, message, broken };

template <MessageHeader Header>
class MessageReader {
 public:
  MessageReader() = default;
  explicit MessageReader(const MessageTags& tags) : tags_(tags) {}

  // Where the next bytes belong, never empty: the rest of an opening or of a payload.
  [[nodiscard]] std::span<std::byte> room() {
    return opens() ? std::as_writable_bytes(std::span(&opening_, 1)).subspan(opening_read_)
                   : payload_.bytes().subspan(payload_read_);
  }

  // `bytes` of room() have come. A message is there until the next call. After `broken` nothing
  // that this connection sends can be believed.
  [[nodiscard]] Arrived took(std::size_t bytes) {
    const bool opened = opens();
    (opened ? opening_read_ : payload_read_) += bytes;
    if (opens()) return Arrived::part;
    if (opened) {
      // The size is believed, and room made for it, once its tag has been checked.
      const Header& h = opening_.header;
      const std::optional<std::uint64_t> size = h.payload_bytes();
      if (!tags_.fits_header(std::as_bytes(std::span(&h, 1)), opening_.tags) || !size)
        return Arrived::broken;
      payload_ = make_message(*size);
    }
    if (payload_read_ < payload_.size) return Arrived::part;
    if (!tags_.fits_payload(payload_.bytes(), opening_.tags)) return Arrived::broken;
    opening_read_ = payload_read_ = 0;
    return Arrived::message;
  }

  [[nodiscard]] const Header& header() const { return opening_.header; }
  [[nodiscard]] Message& payload() { return payload_; }  // may be moved from

 private:
  [[nodiscard]] bool opens() const { return opening_read_ < sizeof opening_; }

  MessageTags tags_;
  Opening<Header> opening_{};
  std::size_t opening_read_ = 0, payload_read_ = 0;
  Message payload_;
};

}  // namespace pleat
